# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon's own life: reload, --once, no bus, no journal, stopped, and what it puts on the wire."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading

from cases import (black_hole, case, consistent, equal, never, no_echo, one_alert, only_echo,
                   reduced, silent, start)
from daemon import BINARY, BusError, config
from topology import B, FAMILIES, FAR, R1, direct, limit, routed, switched
from wire import ECHO_REPLY, Sniffer


@case("reload", "SIGHUP adds and removes peers; a bad file changes nothing")
def reload(network):
    a, _ = direct(network, 9000)
    one, two = ({name: {"Address": B[family]}} for name, family in (("one", "ipv4"),
                                                                      ("two", "ipv6")))
    daemon = start(network, a, config(one))
    consistent(daemon, "one", 9000)
    rounds = daemon.peer("one")["Rounds"]

    daemon.write(config({**one, **two}))
    daemon.signal(signal.SIGHUP)
    consistent(daemon, "two", 9000)
    assert daemon.peer("one")["Rounds"] >= rounds, "the unchanged peer began anew"
    equal("verdicts of the unchanged peer", daemon.verdicts("one"), [])
    said = [r for r in daemon.records if "reloaded" in r["MESSAGE"]]
    equal("said of the reload", [(r["MESSAGE"], r["PRIORITY"]) for r in said],
          [("configuration reloaded: 2 peers", "6")])

    daemon.write(config(two) + "[Peer three]\nAddres=192.0.2.2\n")
    daemon.signal(signal.SIGHUP)
    said = daemon.wait("the complaint", lambda: [r for r in daemon.records
                                                 if "Addres" in r.get("MESSAGE", "")])
    assert daemon.file in said[0]["MESSAGE"], said[0]["MESSAGE"]
    equal("peers", set(daemon.peers()), {"one", "two"})
    try:
        daemon.reload()
        raise AssertionError("Reload() of a bad file succeeded")
    except BusError as error:
        assert "Addres" in str(error), error
    daemon.rounds("one", 2, Verdict="consistent")

    daemon.write(config(two))
    daemon.signal(signal.SIGHUP)
    daemon.wait("one to go", lambda: set(daemon.peers()) == {"two"})
    daemon.write(config({"two": {"Address": B["ipv6"], "ExpectMTU": 9500}}))
    daemon.reload()
    daemon.wait_peer("two", Verdict="misconfigured", ExpectedMTU=9500)
    removed = [s for s in daemon.signals if s["member"] == "InterfacesRemoved"]
    assert removed, "no InterfacesRemoved"


@case("bad start", "a bad configuration is fatal at the start: 78, with file and line")
def bad_start(network):
    a, _ = direct(network)
    daemon = start(network, a, "[Daemon]\nIntervall=2s\n", start=False, bus=False, journal=False)
    status, _, errors = daemon.once("--config", daemon.file)
    equal("exit status", status, 78)
    assert f"{daemon.file}:2" in errors and "Intervall" in errors, errors
    status, _, errors = daemon.once("--config", daemon.file, "--test-config")
    equal("exit status of --test-config", status, 78)


@case("check", "Check answers after a fresh round, callers share it")
def check(network):
    a, _, s1 = switched(network)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="10min"))
    consistent(daemon, "b", 9000)
    answer = daemon.check("b")
    equal("answer", (answer["Verdict"], answer["PathMTU"]), ("consistent", 9000))
    limit(s1, 1500)
    before = daemon.peer("b")["Rounds"]
    # a result younger than a second is returned as it is
    daemon.wait("a fresh round", lambda: daemon.check("b")["Rounds"] > before)
    black_hole(daemon, "b", 1500)
    one_alert(daemon, "b", "black-hole")
    try:
        daemon.check("nobody")
        raise AssertionError("Check of an unknown peer succeeded")
    except BusError:
        pass
    document = daemon.describe()
    assert "b" in json.dumps(document), document


def once(daemon, *arguments):
    status, out, errors = daemon.once("--once", *arguments)
    assert "Sanitizer" not in errors, errors
    return status, out, errors


def peers_of(document):
    """The peers in what --json prints: the dictionaries that have a Verdict and an Address."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            if "Verdict" in value and "Address" in value and "Name" in value:
                found.append(value)
                return
            value = list(value.values())
        if isinstance(value, list):
            for one in value:
                walk(one)
    walk(document)
    return found


@case("once", "--once: table, JSON and exit codes, without a bus", *FAMILIES)
def once_codes(network, family):
    a, r1, b = routed(network, 9000)
    daemon = start(network, a, "", start=False, bus=False, journal=False)
    status, out, errors = once(daemon, FAR[family])
    equal("exit status, clean", (status, errors), (0, ""))
    assert "consistent" in out and "9000" in out, out
    status, out, _ = once(daemon, "--json=short", FAR[family])
    equal("exit status, JSON", status, 0)
    equal("lines of short JSON", out.count("\n"), 1)
    peer, = peers_of(json.loads(out))
    equal("JSON", (peer["Verdict"], peer["PathMTU"], peer["Address"]),
          ("consistent", 9000, FAR[family]))
    status, out, _ = once(daemon, "--json=pretty", FAR[family], R1[family])
    equal("peers in pretty JSON", len(peers_of(json.loads(out))), 2)
    assert out.count("\n") > 10, out

    r1.mtu("far", 1500)
    status, out, _ = once(daemon, FAR[family])
    equal("exit status, reduced", status, 0)
    assert "reduced" in out and "1500" in out and R1[family] in out, out

    if family == "ipv6":
        a.ip("-6 route flush cache")
    r1.no_reports()
    status, out, _ = once(daemon, FAR[family])
    equal("exit status, black hole", status, 2)
    assert "black-hole" in out and "1500" in out, out

    only_echo(b)
    status, out, _ = once(daemon, FAR[family])
    equal("exit status, black hole that nothing bears out", status, 1)

    no_echo(b)
    status, out, _ = once(daemon, FAR[family])
    equal("exit status, unreachable", status, 3)
    assert "unreachable" in out, out
    status, out, _ = once(daemon, R1[family], FAR[family])
    equal("exit status, one good and one unreachable", status, 3)


@case("once nothing", "--once with nothing to watch says so at once: 3")
def once_nothing(network):
    a = network.space("A")
    daemon = start(network, a, config(), start=False, bus=False, journal=False)
    for arguments in ((), ("--config", daemon.file)):
        status, out, errors = once(daemon, *arguments)
        equal("exit status", (status, errors), (3, ""))
        assert out.startswith("There is nothing to watch: "), out
        assert not out.endswith("\n\n"), out
    status, out, _ = once(daemon, "--json=short")
    equal("JSON", (status, json.loads(out)["Peers"]), (3, []))


@case("once address", "--once takes what Address= takes, and says why not: 64")
def once_address(network):
    a = network.space("A")
    daemon = start(network, a, "", start=False, bus=False, journal=False)
    for address, why in (("", "expected an IPv4 or IPv6 address or a host name"),
                         ("not an address", "expected an IPv4 or IPv6 address or a host name"),
                         ("300.1.1.1", "expected an IPv4 or IPv6 address or a host name"),
                         ("127.0.0.1", "this one is this host's own"),
                         ("224.0.0.1", "this one is multicast"),
                         ("fe80::1", "the address is link-local: expected %LINK behind it")):
        status, out, errors = once(daemon, address)
        equal(f"exit status of {address!r}", (status, out), (64, ""))
        assert errors.startswith(f'mtuwatchd: "{address}": '), errors
        assert why in errors, errors
    a.ip("address add 192.0.2.1/32 dev lo")
    status, out, _ = once(daemon, "192.0.2.1")
    equal("exit status of its own address", status, 1)
    assert "give the address of another host" in out and "Address=" not in out, out
    assert "peer 192.0.2.1 (" not in out, out
    a.ip("link add eth0 type veth peer name eth1")
    a.ip("link set eth0 up")
    a.ip("link set eth1 up")
    a.ip("address add 198.51.100.1/24 dev eth0")
    status, out, _ = once(daemon, "198.51.100.255")
    equal("exit status of a broadcast address", status, 1)
    assert "misconfigured" in out and "is a broadcast address" in out, out
    assert "no route" not in out, out


@case("once unheard", "what nobody gets is no success: stdout closed, or a full disk")
def once_unheard(network):
    a, _ = direct(network, 1500)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}), start=False, bus=False,
                   journal=False)
    for words in (("--once", B["ipv4"]), ("--once", "--json=pretty", B["ipv4"]), ("--help",),
                  ("--version",), ("--test-config", "--config", daemon.file)):
        status, _, errors = daemon.once(*words)
        equal(f"exit status of {words}", (status, errors), (0, ""))
        for where, why in ((">&-", "Bad file descriptor"), (">/dev/full", "No space left")):
            done = subprocess.run(["sh", "-c", f'"$@" {where}', "sh", *daemon.shell(*words)],
                                  capture_output=True, text=True, timeout=60, check=False,
                                  stdin=subprocess.DEVNULL, env=daemon.environment())
            equal(f"exit status of {words} {where}", done.returncode, 3)
            assert done.stderr.startswith("mtuwatchd: writing to stdout: " + why), done.stderr
    # a table for nobody is no reason to stop watching
    done = subprocess.run(["sh", "-c", '"$@" >&- 2>&-', "sh", *daemon.shell("--once")],
                          capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL, env=daemon.environment())
    equal("exit status with both closed", (done.returncode, done.stdout, done.stderr), (3, "", ""))


@case("answering only", "a daemon that only answers other hosts says so")
def answering_only(network):
    a, _ = direct(network, 1500)
    daemon = start(network, a, config({}, Responder=8899))
    daemon.wait_link("eth0", MTU=1500)
    daemon.wait("its port", lambda: daemon.describe()["ResponderPort"] == 8899)
    daemon.write(config({}, Responder="no"))
    daemon.reload()
    daemon.wait("none", lambda: daemon.describe()["ResponderPort"] == 0)


@case("once config", "--once with a configuration: misconfigured is 1")
def once_config(network):
    a, _ = direct(network, 1500)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"], "ExpectMTU": 9000},
                                       "six": {"Address": B["ipv6"]}}),
                   start=False, bus=False, journal=False)
    status, out, _ = once(daemon, "--config", daemon.file)
    equal("exit status", status, 1)
    assert "misconfigured" in out and "consistent" in out, out


@case("usage", "bad options are 64, --version and --help are 0")
def usage(network):
    a = network.space("A")
    daemon = start(network, a, "", start=False, bus=False, journal=False)
    status, _, errors = daemon.once("--no-such-option")
    equal("unknown option", status, 64)
    assert errors.startswith("mtuwatchd: "), errors
    status, _, errors = daemon.once("--config", "/nonexistent", "--test-config")
    equal("no such file", (status, errors),
          (78, "mtuwatchd: /nonexistent: No such file or directory\n"))
    equal("unknown form", daemon.once("--once", "--json=xml")[0], 64)
    status, out, _ = daemon.once("--version")
    equal("--version", (status, "mtuwatchd" in out), (0, True))
    status, out, _ = daemon.once("--help")
    equal("--help", (status, "--once" in out), (0, True))
    assert max(len(line) for line in out.splitlines()) <= 80, out
    done = subprocess.run(a.command("setpriv", "--bounding-set=-net_raw", BINARY, "--once"),
                          capture_output=True, text=True, timeout=30)
    equal("exit status without CAP_NET_RAW", done.returncode, 77)
    assert done.stderr.startswith("mtuwatchd: CAP_NET_RAW is needed"), done.stderr


def screens(text):
    """What a terminal showed, one text for each time it was cleared."""
    return [screen.replace("\r", "") for screen in text.split("\033[H\033[2J")]


@case("terminal", "on a terminal: a table within its width, the latest sentences below it")
def terminal(network):
    a, _, s1 = switched(network)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}), journal=False, start=False)
    keyboard, screen = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 72, 0, 0))
    shown = []

    def read():
        with contextlib.suppress(OSError):  # the other side is closed
            while data := os.read(keyboard, 65536):
                shown.append(data)

    def last():
        """The screens that are whole: the last one may still be on its way."""
        return screens(b"".join(shown).decode())[1:-1]
    daemon.process = subprocess.Popen(daemon.shell("--config", daemon.file), stdin=screen,
                                      stdout=screen, stderr=screen,
                                      env={**daemon.environment(), "NO_COLOR": "1"})
    os.close(screen)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    consistent(daemon, "b", 9000)
    limit(s1, 1500)
    black_hole(daemon, "b", 1500)
    said = re.compile(r"^\d\d:\d\d:\d\d peer b \(192\.0\.2\.2\) by eth0: black-hole: ", re.M)
    daemon.wait("the sentence below the table", lambda: last() and said.search(last()[-1]))
    count = len(last())
    daemon.wait("the sentence after more redrawing",
                lambda: len(last()) >= count + 3 and said.search(last()[-1]))
    for one in last():
        assert max(len(line) for line in one.splitlines()) <= 72, one
        assert len(one.splitlines()) < 24, one
        assert "Ctrl-C ends it." in one, one
    stray = [x for x in last() if not x.startswith(("PEER", "There"))]
    assert not stray, stray
    equal("exit status", daemon.stop(), 0)
    reader.join(5)
    os.close(keyboard)


@case("pipe", "in a pipe: the table at each change, each fault told once")
def in_a_pipe(network):
    a, _, s1 = switched(network)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}, "six": {"Address": B["ipv6"]}}))
    consistent(daemon, "b", 9000)
    limit(s1, 1500)
    for name in ("b", "six"):
        black_hole(daemon, name, 1500)

    def told(name):
        return [x for x in daemon.lines if x.startswith(f"critical: peer {name} ")]
    daemon.wait("both sentences", lambda: told("b") and told("six"))
    s1.mtu("trunk", 9000)
    consistent(daemon, "b", 9000)
    consistent(daemon, "six", 9000)
    daemon.wait("the table without a fault", lambda: len(daemon.lines) > 2 and all(
        "consistent" in line for line in daemon.lines[-2:]))
    equal("sentences", (len(told("b")), len(told("six"))), (1, 1))
    assert not [x for x in daemon.lines if x.endswith(" ")], daemon.lines
    assert daemon.lines[0].startswith("PEER") and daemon.lines[-1], daemon.lines


@case("bus later", "the bus comes after the daemon, goes, and comes again")
def bus_later(network):
    a, _, s1 = switched(network)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}), bus=False)
    limit(s1, 1500)
    daemon.wait("the alert", lambda: daemon.alerts("b"))
    daemon.bus.start()
    black_hole(daemon, "b", 1500)
    daemon.bus.stop()
    s1.mtu("trunk", 9000)
    daemon.wait("the recovery", lambda: daemon.told("b", MTUWATCH_VERDICT="consistent"))
    daemon.bus.start()
    consistent(daemon, "b", 9000)
    equal("alerts", len(daemon.alerts("b")), 1)
    equal("exit status", daemon.stop(), 0)


@case("no journal", "without a journal the sentences go to stderr")
def no_journal(network):
    a, _, s1 = switched(network)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}), journal=False)
    consistent(daemon, "b", 9000)
    limit(s1, 1500)
    black_hole(daemon, "b", 1500)
    # beside it stands what the foreground shows: a table, and the same with advice
    lines = daemon.wait("the sentence", lambda: [x for x in daemon.lines if "black-hole" in x
                                                 and x.startswith("peer b ")])
    equal("sentences", len(lines), 1)
    assert "1500" in lines[0] and "9000" in lines[0] and "b" in lines[0], lines[0]


@case("random loss", "30 % loss without a size limit is neither hole nor reduced", *FAMILIES)
def random_loss(network, family):
    a, _, b = routed(network, 9000)
    b.filter("loss", ["numgen random mod 100 < 30 drop"], priority=-310)
    # the neighbours are learned by unicast and multicast alike: keep them out of it
    daemon = start(network, a, config(
        {f"b{i}": {"Address": FAR[family]} for i in range(8)}, Interval="1s"))
    daemon.rounds_of([f"b{i}" for i in range(8)], 20, deadline=120,
                     Verdict=lambda v: v not in ("black-hole", "reduced", "partial", "lossy"))
    for i in range(8):
        never(daemon, f"b{i}", "black-hole", "reduced", "misconfigured", "partial", "lossy")


@case("loss and hole", "13 % loss and a silent hole: the number is exact", *FAMILIES)
def loss_and_hole(network, family):
    a, _, b = routed(network, 9000)
    b.filter("loss", ["numgen random mod 100 < 13 drop"], priority=-310)
    b.drop_above(4321, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="1s"))
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=4321, deadline=90)
    # what bears it out may get lost as well, and comes later then
    black_hole(daemon, "b", 4321, deadline=90, Confirmed=True)
    never(daemon, "b", "reduced", "consistent")


@case("stopped", "the daemon stopped for seconds and continued: no false verdict", *FAMILIES)
def stopped(network, family):
    a, _ = direct(network, 9000)
    daemon = start(network, a, config({"b": {"Address": B[family]}}, Interval="1s"))
    sniffer = Sniffer(network, a, "eth0")
    consistent(daemon, "b", 9000)
    for _ in range(5):
        # stopped with probes on the way, for longer than their Timeout
        count = len(sniffer.requests())
        daemon.wait("probes", lambda: len(sniffer.requests()) > count)  # pylint: disable=W0640
        daemon.signal(signal.SIGSTOP)
        halt = os.times().elapsed + 2.5
        daemon.process.poll()
        daemon.wait("two and a half seconds of standstill",
                    lambda: os.times().elapsed > halt)  # pylint: disable=W0640
        daemon.signal(signal.SIGCONT)
        daemon.rounds("b", 2, Verdict="consistent", PathMTU=9000)
    equal("verdicts", daemon.verdicts("b"), [])
    silent(daemon)


def on_the_wire(daemon, sniffer, address, largest):
    """The probes carry DF, are whole, fit the link, and are as many as the counters say."""
    state = daemon.peer("b")

    def counted():
        now = daemon.peer("b")
        seen = len(sniffer.probes(address))
        return now["ProbesSent"] == seen and now
    state = daemon.wait(f"as many packets ({len(sniffer.probes(address))}) as the counter says "
                        f"({state['ProbesSent']})", counted)
    probes = sniffer.probes(address)
    equal("frames the sniffer missed", sniffer.dropped(), 0)
    assert all(p.df and not p.fragment for p in probes), "a probe without DF or in pieces"
    equal("largest probe", max(p.size for p in probes), largest)
    controls = [p for p in probes if p.size <= (68 if p.version == 4 else 104)]
    assert len(controls) * 12 >= len(probes), f"{len(controls)} controls of {len(probes)}"
    return state, probes


@case("wire", "what a clean peer costs on the wire", *FAMILIES)
def wire_clean(network, family):
    a, _ = direct(network, 9000)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family]}}, Interval="1s"))
    consistent(daemon, "b", 9000)
    daemon.rounds("b", 4, Verdict="consistent")
    state, probes = on_the_wire(daemon, sniffer, B[family], 9000)
    # in flight there may be the two of a round that is not counted yet
    assert len(probes) <= 2 * state["Rounds"] + 4, f"{len(probes)} in {state['Rounds']} rounds"
    equal("lost", state["ProbesLost"], 0)
    replies = [p for p in sniffer.packets if p.kind == ECHO_REPLY[p.version] and not p.outgoing]
    assert len(replies) >= len(probes) - 2, f"{len(replies)} replies to {len(probes)}"


@case("wire hole", "what a silent hole costs on the wire", *FAMILIES)
def wire_hole(network, family):
    a, _, s1 = switched(network)
    limit(s1, 1443)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family]}}, Interval="10min"))
    black_hole(daemon, "b", 1443)
    state, probes = on_the_wire(daemon, sniffer, B[family], 9000)
    assert len(probes) <= 60 * state["Rounds"], f"{len(probes)} packets"


@case("wire report", "what an honest router costs on the wire", *FAMILIES)
def wire_report(network, family):
    a, _, _ = routed(network, 9000, 1500)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="10min"))
    reduced(daemon, "b", 1500, R1[family])
    on_the_wire(daemon, sniffer, FAR[family], 9000)


@case("end", "SIGTERM ends it at once and cleanly")
def ends(network):
    a, _, s1 = switched(network)
    limit(s1, 1500)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    daemon.wait("probes", lambda: (daemon.peer("b") or {}).get("ProbesSent"))
    equal("exit status", daemon.stop(), 0)
