# SPDX-License-Identifier: LGPL-2.1-or-later
"""Addresses that are not configured: Probe on the bus, and --once with its options."""

import json

from case_daemon import once, peers_of
from cases import case, consistent, equal, start
from daemon import BusError, config
from topology import A, B, FAMILIES, direct, limit, switched


@case("probe", "Probe measures an address that is not configured, and tells nobody else", *FAMILIES)
def probe(network, family):
    a, _, s1 = switched(network)
    daemon = start(network, a, config({"other": {"Address": B[family]}}, Interval="10min"))
    consistent(daemon, "other", 9000)
    known = daemon.peer("other")
    answer = daemon.probe(B[family])
    equal("answer", [answer[key] for key in ("Verdict", "PathMTU", "ReturnMTU", "Address", "Origin")],
          ["consistent", 9000, 9000, B[family], "request"])
    equal("keys", set(answer), set(known))
    answer = daemon.probe(B[family], ExpectMTU=4000, Method="tcp", Port=7, Flows=4,
                          Interface="eth0")
    equal("answer with options",
          [answer[key] for key in ("Verdict", "PathMTU", "ReturnMTU", "ExpectedMTU", "Method", "Flows",
                                   "FlowsFaulty")],
          ["consistent", 4000, 0, 4000, "tcp", 4, 0])
    refused(daemon, "Interface=eth9: there is no such link", B[family], Interface="eth9")
    limit(s1, 1500)
    answer = daemon.probe(B[family])
    equal("answer, black hole", (answer["Verdict"], answer["PathMTU"]), ("black-hole", 1500))
    equal("peers", set(daemon.peers()), {"other"})
    equal("records", [r["MESSAGE"] for r in daemon.records if B[family] in r.get("MESSAGE", "")
                      and "other" not in r["MESSAGE"]], [])
    equal("verdicts", [s["data"][:4] for s in daemon.signals if s["member"] == "VerdictChanged"
                       and s["data"][0] != "other"], [])


def refused(daemon, name, *words, **options):
    try:
        daemon.probe(*words, **options)
    except BusError as error:
        assert name in str(error), f"{error}: not {name}"
        return
    raise AssertionError(f"Probe of {words} {options} succeeded")


@case("probe refused", "Probe of what is no other host, and with wrong options")
def probe_refused(network):
    a, _ = direct(network, 9000)
    daemon = start(network, a, config(), bus=True)
    daemon.wait("the bus", daemon.manager)
    for address in ("224.0.0.1", "0.0.0.0", "::1", "not an address", "fe80::1"):
        refused(daemon, "expected", address)
    for address in (A["ipv4"], A["ipv6"]):
        refused(daemon, "this host's own", address)
    refused(daemon, "ExpectMTU=12", B["ipv4"], ExpectMTU=12)
    refused(daemon, "Method=smoke", B["ipv4"], Method="smoke")
    equal("verdict", daemon.probe(B["ipv4"])["Verdict"], "consistent")


@case("probe many", "more probes than there is room for are refused, and who leaves makes room")
def probe_many(network):
    a, _ = direct(network, 9000)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="10s", Timeout="5s"))
    consistent(daemon, "b", 9000)
    callers = [daemon.bus.begin("/org/mtuwatch1", "org.mtuwatch1.Manager", "Probe", "sa{sv}",
                                f"192.0.2.{100 + i}", "0") for i in range(17)]
    # one of them finds no room, the others wait for what is not there
    daemon.wait("a refusal", lambda: any(one.poll() is not None for one in callers))
    over = [one for one in callers if one.poll() is not None]
    equal("refused", len(over), 1)
    said = over[0].communicate()[1]
    assert "too many addresses" in said, said
    refused(daemon, "too many addresses", B["ipv4"])
    equal("verdict meanwhile", daemon.check("b")["Verdict"], "consistent")
    for one in callers:
        if one.poll() is None:
            one.kill()
            one.communicate()

    def again():
        try:
            return daemon.probe(B["ipv4"])
        except BusError:
            return None
    equal("verdict", daemon.wait("room", again)["Verdict"], "consistent")


@case("probe name", "Probe of a host name, known and unknown")
def probe_name(network):
    a, _ = direct(network, 9000)
    network.hosts_file(a, [f"{B['ipv4']} storage.example"])
    daemon = start(network, a, config())
    daemon.wait("the bus", daemon.manager)
    answer = daemon.probe("storage.example")
    equal("answer", [answer[key] for key in ("Verdict", "PathMTU", "Address", "Name")],
          ["consistent", 9000, B["ipv4"], "storage.example"])
    answer = daemon.probe("nobody.example")
    equal("verdict", answer["Verdict"], "unreachable")
    assert "name" in answer["Reason"], answer["Reason"]


@case("once options", "--once with what is expected of the addresses", *FAMILIES)
def once_options(network, family):
    a, _ = direct(network, 9000)
    daemon = start(network, a, "", start=False, bus=False, journal=False)
    status, out, errors = once(daemon, "--json=short", "--expect", "4000", "--method=tcp", "--port",
                               "7", "--flows=4", "--interface", "eth0", B[family])
    equal("exit status", (status, errors), (0, ""))
    peer, = peers_of(json.loads(out))
    equal("JSON", [peer[key] for key in ("Verdict", "PathMTU", "ReturnMTU", "ExpectedMTU", "Method",
                                         "Flows", "Interface")],
          ["consistent", 4000, 0, 4000, "tcp", 4, "eth0"])
    status, out, _ = once(daemon, "--expect=9500", B[family])
    equal("exit status, more than the link has", status, 1)
    assert "misconfigured" in out and "9500" in out, out
    status, out, errors = once(daemon, "--interface=eth0", "--interface=eth9", B[family])
    equal("exit status, a link that is not there", (status, out), (64, ""))
    assert "--interface=eth9: there is no such link" in errors, errors
    for words in (("--expect=12", B[family]), ("--method=smoke", B[family]), ("--flows=65", B[family]),
                  ("--port=0", B[family]), ("--interface=a/b", B[family]), ("--expect=9000",),
                  ("224.0.0.1",), ("127.0.0.1",)):
        status, out, errors = once(daemon, *words)
        equal(f"exit status of {words}", (status, out), (64, ""))
        assert "expected" in errors or "goes with" in errors, errors
