# SPDX-License-Identifier: LGPL-2.1-or-later
"""The metrics on their whole way: three hosts, each with a daemon and a node_exporter, and one
Prometheus that scrapes them, holds our rules and answers what the dashboard asks."""

import json
import os
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from cases import case, equal, start
from daemon import ROOT, config, end
from lab import fetched, packages

PROMETHEUS = os.path.join(ROOT, "conf", "prometheus")
HOSTS = {"H1": "192.0.2.1", "H2": "192.0.2.2", "H3": "192.0.2.3"}
COLLECTOR = "192.0.2.100"
MTU = 9000


def needed():
    """Where prometheus and its companions are."""
    return fetched("prometheus", "prometheus-node-exporter",
                   programs=("prometheus", "promtool", "prometheus-node-exporter"))


@case("metrics rules", "the alert rules do what they promise, by promtool's clock")
def rules(_network):
    folder = needed()
    for words in (("check", "rules", "mtuwatchd.rules.yml"),
                  ("test", "rules", "mtuwatchd.rules.test.yml")):
        done = promtool(folder, *words, cwd=PROMETHEUS)
        assert done.returncode == 0, done.stdout + done.stderr


def promtool(folder, *words, **options):
    return subprocess.run(packages.command(folder, "promtool", *words), capture_output=True,
                          text=True, timeout=60, check=False, **options)


def promtool_check(folder, text):
    done = promtool(folder, "check", "metrics", input=text)
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr + done.stdout


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def star(network):
    """The hosts and the collector around one switch; a host's port is called as the host."""
    switch = network.switch("S1")
    for role, address in [*HOSTS.items(), ("P", COLLECTOR)]:
        space = network.space(role)
        network.link(space, "eth0", switch, role.lower(), MTU)
        space.address("eth0", f"{address}/24")
        space.ip("link add spare up type bridge")  # something to be found: it has 1500
        if role == "P":
            # its own traffic does not depend on what is broken on purpose
            space.mtu("eth0", 1500)
    return switch


def textfile(network, role):
    return os.path.join(network.directory, f"{role}-textfile", "mtuwatchd.prom")


def watch(network, role, **daemon):
    """A daemon for this host that watches the two others."""
    os.makedirs(os.path.dirname(textfile(network, role)), exist_ok=True)
    peers = {other: {"Address": address} for other, address in HOSTS.items() if other != role}
    return start(network, network.spaces[role],
                 config(peers, {"spare": {"ExpectMTU": MTU}},
                        MetricsFile=textfile(network, role), **daemon))


def spawn(network, role, folder, *argv):
    log = open(os.path.join(network.directory, f"{role}-{argv[0]}.log"), "wb")
    words = network.spaces[role].command(*packages.command(folder, *argv))
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log,
                               stderr=subprocess.STDOUT)
    network.stack.callback(log.close)
    network.stack.callback(end, process)
    return process


class Prometheus:
    """A real one; its alerts wait two seconds instead of minutes, which promtool has tested."""

    def __init__(self, network, folder):
        self.space = network.spaces["P"]
        directory = os.path.join(network.directory, "prometheus")
        os.mkdir(directory)
        shortened = re.sub(r"for: \S+", "for: 2s", read(f"{PROMETHEUS}/mtuwatchd.rules.yml"))
        with open(f"{directory}/rules.yml", "w", encoding="utf-8") as file:
            file.write(shortened)
        targets = "".join(
            f"      - targets: ['{address}:9100']\n        labels: {{instance: {role}}}\n"
            for role, address in HOSTS.items())
        with open(f"{directory}/prometheus.yml", "w", encoding="utf-8") as file:
            file.write("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\n"
                       "rule_files: [rules.yml]\n"
                       "scrape_configs:\n  - job_name: node\n    static_configs:\n" + targets)
        spawn(network, "P", folder, "prometheus", f"--config.file={directory}/prometheus.yml",
              f"--storage.tsdb.path={directory}/data", "--web.listen-address=127.0.0.1:9090",
              "--log.level=warn")

    def get(self, path, **parameters):
        url = f"http://127.0.0.1:9090/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with self.space.entered():
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]

    def query(self, expression):
        """[] too while it is not there yet."""
        try:
            return self.get("query", query=expression)["result"]
        except urllib.error.HTTPError as error:
            if error.code == 503:  # it is still starting
                return []
            raise AssertionError(f"{expression}: {error.read().decode()}") from None
        except OSError:
            return []

    def firing(self, name):
        """(host, peer) of each alert of this name that fires."""
        return {(one["metric"].get("instance"), one["metric"].get("peer")) for one in
                self.query(f'ALERTS{{alertname="{name}",alertstate="firing"}}')}


def dashboard_queries():
    dashboard = json.loads(read(f"{PROMETHEUS}/mtuwatchd.grafana.json"))
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            query = target["expr"].replace("$instance", ".*").replace("$peer", ".*")
            yield panel["title"], query.replace("$__rate_interval", "10s")


@case("metrics fleet", "three hosts, node_exporter, Prometheus: an alert fires and clears, "
      "the dashboard has data")
def fleet(network):
    folder = needed()
    switch = star(network)
    daemons = {role: watch(network, role) for role in HOSTS}
    for role in HOSTS:
        spawn(network, role, folder, "prometheus-node-exporter", "--collector.disable-defaults",
              "--collector.textfile",
              f"--collector.textfile.directory={os.path.dirname(textfile(network, role))}")
    prometheus = Prometheus(network, folder)
    any_daemon = daemons["H1"]

    # the fleet's matrix is whole and green
    pairs = {(one, other) for one in HOSTS for other in HOSTS if one != other}

    def seen(verdict):
        return {(one["metric"]["instance"], one["metric"]["peer"]) for one in
                prometheus.query(f'mtuwatchd_verdict{{verdict="{verdict}"}} == 1')}
    any_daemon.wait("all pairs consistent", lambda: seen("consistent") == pairs, 90)
    equal("scrape errors", prometheus.query("node_textfile_scrape_error > 0"), [])
    for role in HOSTS:
        promtool_check(folder, read(textfile(network, role)))

    # one port carries 1500 only: the pairs with that host are bad, and no other
    bad = {pair for pair in pairs if "H3" in pair}
    switch.mtu("h3", 1496)
    any_daemon.wait("the alert of all bad pairs",
                    lambda: prometheus.firing("MTUBlackHole") == bad, 90)
    equal("pairs that are bad", seen("black-hole"), bad)
    sizes = {one["value"][1] for one in prometheus.query(
        'mtuwatchd_path_mtu_bytes{instance="H1",peer="H3",direction="forward"}')}
    equal("size that passes", sizes, {"1500"})
    for title, query in dashboard_queries():
        any_daemon.wait(f"data for the panel {title!r}: {query}",
                        lambda query=query: prometheus.query(query), 30)
    switch.mtu("h3", MTU)
    any_daemon.wait("the alert to clear", lambda: not prometheus.firing("MTUBlackHole"), 90)
    equal("pairs that are good", seen("consistent"), pairs)

    # a clean stop takes the file along, and its series with it
    daemons["H2"].stop()
    assert not os.path.exists(textfile(network, "H2")), "the file outlived the daemon"
    any_daemon.wait("the series to go",
                    lambda: not prometheus.query('mtuwatchd_verdict{instance="H2"}'), 60)


@case("metrics reload", "reloading turns the metrics on, moves them and turns them off")
def reload(network):
    space = network.space("H1")
    peers = {"b": {"Address": "192.0.2.9"}}
    first, second = (os.path.join(network.directory, name) for name in ("one.prom", "two.prom"))
    daemon = start(network, space, config(peers))
    daemon.wait("the daemon", lambda: daemon.peer("b"))

    def turn(text):
        daemon.write(text)
        daemon.reload()
    turn(config(peers, MetricsFile=first))
    daemon.wait("the first file", lambda: os.path.exists(first))
    assert 'peer="b"' in read(first)
    equal("mode", os.stat(first).st_mode & 0o7777, 0o644)
    # nothing of it changed: it stays, without a gap
    daemon.signal(signal.SIGHUP)
    daemon.wait("the reload", lambda: any("reloaded" in r["MESSAGE"] for r in daemon.records))
    assert os.path.exists(first), "reloading removed the file"
    turn(config(peers, MetricsFile=second))
    daemon.wait("the second file", lambda: os.path.exists(second))
    assert not os.path.exists(first), "the first file is left"
    turn(config(peers))
    assert not os.path.exists(second), "the second file is left"
    # a folder that is not there: said once, and no reason to stop
    turn(config(peers, MetricsFile="/nonexistent/m.prom"))
    said = daemon.wait("the complaint",
                       lambda: [r for r in daemon.records if "/nonexistent" in r["MESSAGE"]])
    equal("priority", said[0]["PRIORITY"], "4")
    daemon.rounds("b", 3)
    equal("complaints", len([r for r in daemon.records if "/nonexistent" in r["MESSAGE"]]), 1)
