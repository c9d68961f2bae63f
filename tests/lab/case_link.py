# SPDX-License-Identifier: LGPL-2.1-or-later
"""Peers on the same link: switches, hidden ends, links that change and vanish."""

import time

from cases import (black_hole, case, consistent, equal, never, one_alert, recovered, silent, start)
from daemon import config
from topology import A, B, FAMILIES, direct, limit, switched


@case("M01", "heartbeats pass, data does not", *FAMILIES)
def heartbeats(network, family):
    a, _, s1 = switched(network)
    limit(s1, 1500)
    daemon = start(network, a, config(
        {"osd-b": {"Address": B[family], "Interface": "eth0", "ExpectMTU": 9000}}))
    state = black_hole(daemon, "osd-b", 1500, ExpectedMTU=9000, LinkMTU=9000, Locus="on-link")
    assert state["Rounds"] <= 3, f"{state['Rounds']} rounds"
    daemon.rounds("osd-b", 3, Verdict="black-hole", PathMTU=1500)
    alert = one_alert(daemon, "osd-b", "black-hole")
    for key, value in (("PATH_MTU", "1500"), ("EXPECTED_MTU", "9000"), ("LINK_MTU", "9000"),
                       ("ADDRESS", B[family]), ("LINK", "eth0"), ("DIRECTION", "forward"),
                       ("LOCUS", "on-link")):
        equal(f"MTUWATCH_{key}", alert.get(f"MTUWATCH_{key}"), value)
    equal("PRIORITY", alert["PRIORITY"], "3")
    assert "1500" in alert["MESSAGE"] and "9000" in alert["MESSAGE"], alert["MESSAGE"]
    never(daemon, "osd-b", "reduced", "consistent")


@case("M01 both", "two families, one fault: one alert each")
def heartbeats_both(network):
    a, _, s1 = switched(network)
    limit(s1, 1500)
    daemon = start(network, a, config(
        {name: {"Address": B[name], "ExpectMTU": 9000} for name in FAMILIES}))
    for name in FAMILIES:
        black_hole(daemon, name, 1500)
    for name in FAMILIES:
        daemon.rounds(name, 2, Verdict="black-hole", PathMTU=1500)
        one_alert(daemon, name, "black-hole")


@case("M01 sizes", "the number is exact, whatever it is",
      *(f"{family} {size}" for family in FAMILIES for size in (1281, 1443, 4321, 8951, 8999)))
def exact_sizes(network, variant):
    family, size = variant.split()
    a, _, s1 = switched(network)
    limit(s1, int(size))
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    black_hole(daemon, "b", int(size))


@case("M09", "a veth whose other end kept 1500", *FAMILIES)
def hidden_end(network, family):
    a, b = network.space("A"), network.space("B")
    network.link(a, "p0", b, "eth0", 7950, 1500)
    a.ip("link add br0 type bridge forward_delay 0 mcast_snooping 0")
    a.ip("link set p0 master br0")
    a.up("br0")
    bits = 24 if family == "ipv4" else 64
    a.address("br0", f"{A[family]}/{bits}")
    b.address("eth0", f"{B[family]}/{bits}")
    assert "mtu 7950" in a.ip("link show br0"), a.ip("link show br0")
    daemon = start(network, a, config(
        {"gw": {"Address": B[family], "Interface": "br0", "ExpectMTU": 7950}}))
    # 1500 and the room for a VLAN tag that every veth leaves
    black_hole(daemon, "gw", 1504, LinkMTU=7950, Interface="br0")
    daemon.rounds("gw", 2, Verdict="black-hole", PathMTU=1504)
    one_alert(daemon, "gw", "black-hole")
    never(daemon, "gw", "misconfigured")


@case("near end", "the port at the other end of this host's own veth is the small one",
      *(f"{family} {method}" for family in FAMILIES for method in ("auto", "icmp", "tcp")))
def near_end(network, variant):
    family, method = variant.split()
    a, _, s1 = switched(network)
    s1.mtu("pa", 1496)
    daemon = start(network, a, config(
        {"b": {"Address": B[family], "Method": method, "ExpectMTU": 9000}}))
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=1500, Locus="on-link")
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1500)
    one_alert(daemon, "b", "black-hole")
    never(daemon, "b", "unverifiable", "consistent")


@case("M31", "a switch lowered under running hosts, and restored", *FAMILIES)
def switch_lowered(network, family):
    a, _, s1 = switched(network)
    daemon = start(network, a, config(
        {"b": {"Address": B[family], "Interface": "eth0", "ExpectMTU": 9000}}))
    consistent(daemon, "b", 9000)
    daemon.rounds("b", 2, Verdict="consistent")
    silent(daemon)
    before = daemon.peer("b")["Rounds"]
    limit(s1, 1500)
    state = black_hole(daemon, "b", 1500)
    assert state["Rounds"] - before <= 4, f"{state['Rounds'] - before} rounds"
    daemon.rounds("b", 3, Verdict="black-hole", PathMTU=1500)
    one_alert(daemon, "b", "black-hole")
    before = daemon.peer("b")["Rounds"]
    s1.mtu("trunk", 9000)
    state = consistent(daemon, "b", 9000)
    assert state["Rounds"] - before <= 4, f"{state['Rounds'] - before} rounds"
    recovered(daemon, "b")
    equal("verdicts", daemon.verdicts("b"),
          [("consistent", "black-hole"), ("black-hole", "consistent")])
    one_alert(daemon, "b", "black-hole")


@case("link storm", "the local MTU changes without end, and then rests: the peer is measured then too",
      *FAMILIES)
def link_storm(network, family):
    a, _, _ = switched(network)
    daemon = start(network, a, config({f"b{i}": {"Address": B[family]} for i in range(16)}))
    daemon.rounds("b0", 1)
    names = [f"b{i}" for i in range(16)]
    # longer than a change sends every check back to its start
    until = time.monotonic() + 12
    while time.monotonic() < until:
        for mtu in (1300, 9000):
            a.mtu("eth0", mtu)
    a.mtu("eth0", 1300)
    for name in names:
        consistent(daemon, name, 1300, LinkMTU=1300, ExpectedMTU=1300)
    daemon.rounds_of(names, 3, deadline=40, Verdict="consistent", PathMTU=1300)
    silent(daemon)


@case("M36", "the local MTU lowered while a search is running", *FAMILIES)
def lowered_while_probing(network, family):
    a, _, s1 = switched(network)
    limit(s1, 8000)  # so that a search is running all the time
    daemon = start(network, a, config({"b": {"Address": B[family], "Interface": "eth0"}}))
    daemon.wait("the first probes", lambda: (daemon.peer("b") or {}).get("ProbesSent"))
    s1.mtu("trunk", 9000)
    for _ in range(10):
        for mtu in (1300, 9000):
            a.mtu("eth0", mtu)
            daemon.wait_peer("b", LinkMTU=mtu)
    a.mtu("eth0", 1300)
    consistent(daemon, "b", 1300, LinkMTU=1300, ExpectedMTU=1300)
    daemon.rounds("b", 3, Verdict="consistent", PathMTU=1300)
    a.mtu("eth0", 9000)
    consistent(daemon, "b", 9000, LinkMTU=9000, ExpectedMTU=9000)
    daemon.rounds("b", 2, Verdict="consistent", PathMTU=9000)
    never(daemon, "b", "black-hole", "reduced")
    silent(daemon)


@case("M38", "same name, other interface")
def other_interface(network):
    a, b = direct(network, 9000)
    daemon = start(network, a, config(
        {"b": {"Address": B["ipv4"], "Interface": "eth0"}}, {"eth0": {"ExpectMTU": 9000}}))
    consistent(daemon, "b", 9000)

    a.ip("link add br0 type bridge forward_delay 0 mcast_snooping 0")
    a.ip("link set eth0 master br0")
    a.ip("link set eth0 nomaster")  # the kernel says DELLINK of family bridge
    daemon.wait_link("br0")
    daemon.rounds("b", 2, Verdict="consistent", Interface="eth0", LinkMTU=9000)
    silent(daemon)

    index = daemon.link("eth0")["Index"]
    a.ip("link delete eth0")
    network.link(a, "eth0", b, "eth0", 1500)
    a.address("eth0", f"{A['ipv4']}/24")
    b.address("eth0", f"{B['ipv4']}/24")
    daemon.wait_peer("b", Verdict="misconfigured", Severity="warning", LinkMTU=1500, PathMTU=1500)
    assert daemon.link("eth0")["Index"] != index
    b.mtu("eth0", 9000)
    a.mtu("eth0", 9000)
    consistent(daemon, "b", 9000, LinkMTU=9000)
    recoveries = len(daemon.alerts("b"))

    a.down("eth0")
    a.ip("link set eth0 name stor0")
    daemon.wait_link("stor0")
    daemon.wait_peer("b", Verdict="unreachable", Reason=lambda text: text != "")
    a.ip("link set stor0 name eth0")
    a.up("eth0")
    consistent(daemon, "b", 9000, Interface="eth0")
    equal("alerts for the time without the name", len(daemon.alerts("b")) - recoveries, 1)

    elsewhere = network.space("X")
    a.ip(f"link set eth0 netns {elsewhere.name}")
    state = daemon.wait_peer("b", Verdict="unreachable")
    assert "eth0" in state.get("Reason", "eth0"), state.get("Reason")
    daemon.wait("eth0 gone", lambda: daemon.link("eth0") is None)
    equal("alerts for the interface gone", len(daemon.alerts("b")) - recoveries, 2)
    never(daemon, "b", "black-hole", "reduced")


@case("M39", "different MTUs on different networks are fine", *FAMILIES)
def different_networks(network, family):
    a, b, c = network.space("A"), network.space("B"), network.space("C")
    switch = network.switch("S1")
    for host in (a, b, c):
        network.link(host, "lan", switch, f"p{host.role}", 1500)
    network.link(a, "stor", b, "stor", 9000)
    network.link(a, "ring", b, "ring", 65520)

    def place(net, host):
        return f"10.0.{net}.{host}" if family == "ipv4" else f"2001:db8:{net}::{host}"
    bits = 24 if family == "ipv4" else 64
    for number, device in enumerate(("lan", "stor", "ring"), 1):
        for host, space in ((1, a), (2, b)):
            space.address(device, f"{place(number, host)}/{bits}")
    c.address("lan", f"{place(1, 3)}/{bits}")
    daemon = start(network, a, config({
        "B-lan": {"Address": place(1, 2), "Interface": "lan"},
        "C-lan": {"Address": place(1, 3), "Interface": "lan"},
        "B-stor": {"Address": place(2, 2), "Interface": "stor"},
        "B-ring": {"Address": place(3, 2), "Interface": "ring"}}))
    wanted = {"B-lan": 1500, "C-lan": 1500, "B-stor": 9000, "B-ring": 65520}
    for name, size in wanted.items():
        consistent(daemon, name, size, ExpectedMTU=size, LinkMTU=size)
    quiet = len(daemon.records)
    for name, size in wanted.items():
        daemon.rounds(name, 5, Verdict="consistent", PathMTU=size, Findings=[])
    silent(daemon)
    equal("records while nothing changed", len(daemon.records), quiet)


@case("M45", "an IPoIB-size MTU", *(f"{f} {m}" for f in FAMILIES for m in (65520, 65535)))
def largest(network, variant):
    family, mtu = variant.split()
    mtu = int(mtu)
    a, b = direct(network, mtu)
    daemon = start(network, a, config({"b": {"Address": B[family], "Interface": "eth0"}}))
    # RFC 8200 section 3: the length field leaves the 40 bytes of the header out, so that an IPv6
    # packet may be larger; nothing larger than the link's 65535 can be
    state = consistent(daemon, "b", mtu, LinkMTU=mtu)
    assert state["ProbesSent"] <= 6 * state["Rounds"], state["ProbesSent"]
    b.drop_above(4000, "eth0")
    black_hole(daemon, "b", 4000)
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=4000)
    one_alert(daemon, "b", "black-hole")
