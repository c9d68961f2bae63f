# SPDX-License-Identifier: LGPL-2.1-or-later
"""The recipe of mtuwatchd-alerts(7) for Alertmanager, by the real ones: three hosts whose fault is one
message, with nothing beside it that it explains. What is run was read out of the page; changed are times,
places of files and whom to scrape."""

import collections
import http.server
import json
import os
import re
import socketserver
import sys
import threading
import urllib.request

import lab
from case_metrics import HOSTS, MTU, PROMETHEUS, Prometheus, needed, read, spawn, star, textfile, watch
from cases import case, equal
from daemon import ROOT
from lab import fetched, packages

sys.path.append(os.path.join(ROOT, "tests"))
import recipes  # noqa: E402

PAGE = recipes.Page(os.path.join(ROOT, "man", "mtuwatchd-alerts.7"))
CONFIGURATION = "/etc/prometheus"
TIMES = {"scrape_interval": "1s", "evaluation_interval": "1s", "group_wait": "8s",
         "group_interval": "1s"}


def both_needed():
    """A prefix that runs prometheus' and alertmanager's programs, and the folder for spawn()."""
    first = needed()
    second = fetched("prometheus-alertmanager", programs=("prometheus-alertmanager", "amtool"))
    return first, second


def quickened(text):
    return re.sub(r"^( *)(\w+): \d+[sm]$", lambda found:
                  f"{found[1]}{found[2]}: {TIMES.get(found[2]) or found[0].split()[-1]}", text, flags=re.M)


def page_write(directory):
    """The page's files and the rules, in this folder."""
    targets = ", ".join(f"{address}:9100" for address in HOSTS.values())
    for name in ("prometheus.yml", "alertmanager.yml"):
        text = quickened(PAGE.files[f"{CONFIGURATION}/{name}"]).replace(CONFIGURATION, directory)
        text = re.sub(r"\[host-a\.example\.net:.*\]", f"[{targets}]", text)
        with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    with open(f"{directory}/mtuwatchd.rules.yml", "w", encoding="utf-8") as file:
        file.write(re.sub(r"for: \S+", "for: 2s", read(f"{PROMETHEUS}/mtuwatchd.rules.yml")))


def commands_run(folders, directory):
    """The page's check of its files, but for the reload of services that are not there."""
    lines = PAGE.commands["ALERTMANAGER"][1].replace("\\\n", "").replace(CONFIGURATION, directory)
    checks = [line for line in lines.splitlines() if not line.startswith("systemctl ")]
    equal("number of checks", len(checks), 3)
    for line in checks:
        lab.run(packages.command(folders[0], *packages.command(folders[1], *line.split())))


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_words):
        pass


class Mail(socketserver.StreamRequestHandler):
    """As much of SMTP as takes a mail."""

    def say(self, text):
        self.wfile.write(f"{text}\r\n".encode())

    def handle(self):
        self.say("220 mail")
        for line in self.rfile:
            word = line.split()[0].upper()
            if word == b"DATA":
                self.say("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.received.append(b"".join(lines).decode())
            if word == b"QUIT":
                self.say("221 bye")
                return
            self.say("250 mail")


def receiver(network, kind, handler, port):
    """Listens on loopback of the collector's namespace, until the case ends."""
    with network.spaces["P"].entered():
        server = kind(("127.0.0.1", port), handler)
    server.received = []
    server.daemon_threads = True
    network.stack.callback(server.server_close)
    network.stack.callback(server.shutdown)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.received


class Watcher(Prometheus):
    """Prometheus and, once it is told to start, Alertmanager, with the page's files."""

    def __init__(self, network, folders):
        self.network, self.folders = network, folders
        self.space = network.spaces["P"]
        self.directory = os.path.join(network.directory, "prometheus")
        os.mkdir(self.directory)
        page_write(self.directory)
        commands_run(folders, self.directory)
        spawn(network, "P", folders[0], "prometheus",
              f"--config.file={self.directory}/prometheus.yml",
              f"--storage.tsdb.path={self.directory}/data", "--web.listen-address=127.0.0.1:9090",
              "--rules.alert.resend-delay=1s", "--log.level=warn")

    def alertmanager_start(self):
        spawn(self.network, "P", self.folders[1], "prometheus-alertmanager",
              f"--config.file={self.directory}/alertmanager.yml",
              f"--storage.path={self.directory}/alertmanager", "--cluster.listen-address=",
              "--web.listen-address=127.0.0.1:9093", "--log.level=warn")

    def finding_add(self, instance, subject):
        """A finding as the rules would label it."""
        words = ["alertname=MTUFinding", f"instance={instance}", "id=of-the-test",
                 *(f"{label}={subject}" for label in ("subject", "peer", "interface"))]
        lab.run(self.space.command(*packages.command(
            self.folders[1], "amtool", "--alertmanager.url=http://127.0.0.1:9093", "alert", "add",
            *words)))

    def alerts(self):
        """What Alertmanager holds: labels by (name, instance), and what is kept back."""
        try:
            with self.space.entered(), urllib.request.urlopen(
                    "http://127.0.0.1:9093/api/v2/alerts", timeout=10) as answer:
                held = json.load(answer)
        except OSError:
            return {}
        return {(one["labels"]["alertname"], one["labels"]["instance"],
                 one["labels"].get("peer")): bool(one["status"]["inhibitedBy"]) for one in held}


def instance(role):
    return f"{HOSTS[role]}:9100"


def told(received):
    """Name, status and number of alerts of each message."""
    return [(one["groupLabels"]["alertname"], one["status"], len(one["alerts"])) for one in received]


@case("alertmanager fleet", "a port that three hosts meet is one mail and one call; what it explains "
      "is kept back")
def fleet(network):
    folders = both_needed()
    switch = star(network)
    daemons = {role: watch(network, role, Clamp="route") for role in HOSTS}
    for role in HOSTS:
        spawn(network, role, folders[0], "prometheus-node-exporter", "--collector.disable-defaults",
              "--collector.textfile",
              f"--collector.textfile.directory={os.path.dirname(textfile(network, role))}")
    watcher = Watcher(network, folders)
    called = receiver(network, http.server.ThreadingHTTPServer, Webhook, 9099)
    mailed = receiver(network, socketserver.ThreadingTCPServer, Mail, 25)
    daemon = daemons["H1"]
    for role, one in daemons.items():
        for other in HOSTS.keys() - {role}:
            one.wait_peer(other, Verdict="consistent")

    switch.mtu("h3", 1496)
    bad = {(instance(one), other) for one in HOSTS for other in HOSTS
           if one != other and "H3" in (one, other)}
    daemon.wait("the alerts", lambda: watcher.firing("MTUBlackHole") == bad and
                watcher.firing("MTUClamped") == bad and len(watcher.firing("MTUFinding")) == 3, 90)
    watcher.alertmanager_start()
    daemon.wait("both messages", lambda: len(called) >= 2 and len(mailed) >= 2, 60)
    wanted = collections.Counter({("MTUBlackHole", "firing", 4): 1, ("MTUFinding", "firing", 3): 1})
    equal("messages", collections.Counter(told(called)), wanted)
    hole = next(one for one in called if one["groupLabels"]["alertname"] == "MTUBlackHole")
    equal("who is named", {(one["labels"]["instance"], one["labels"]["peer"]) for one in
                           hole["alerts"]}, bad)
    equal("mails", sorted(re.search(r"Subject: .*?(MTU\w+)", text)[1] for text in mailed),
          ["MTUBlackHole", "MTUFinding"])
    held = watcher.alerts()
    for name, inhibited in (("MTUBlackHole", False), ("MTUClamped", True)):
        equal(name, {held.get((name, one, other)) for one, other in bad}, {inhibited})
    equal("the rest", {key: kept for key, kept in held.items() if key[0] == "MTUFinding"},
          {("MTUFinding", instance(role), "spare"): False for role in HOSTS})
    # of the peer itself, of the link that it was found on, and of another link
    added = {"H3": True, "eth0": True, "eth7": False}
    for subject in added:
        watcher.finding_add(instance("H1"), subject)

    def kept_back():
        now = watcher.alerts()
        return {subject: now.get(("MTUFinding", instance("H1"), subject)) for subject in added}
    daemon.wait("what findings are kept back", lambda: kept_back() == added, 30)

    # Now a clamp may outlast the verdict by a scrape: what is kept back was to be seen before.
    equal("calls for a clamp", [one for one in told(called) if one[0] == "MTUClamped"], [])
    switch.mtu("h3", MTU)
    daemon.wait("the end in a message", lambda: any(
        name == "MTUBlackHole" and status == "resolved" for name, status, _ in told(called)), 90)
