# SPDX-License-Identifier: LGPL-2.1-or-later
"""Verdicts that this host's own filters, routes, bridges and tunnels are part of."""

from cases import (black_hole, case, consistent, equal, findings, holds, never, one_alert,
                   recovered, silent, start)
from daemon import config
from topology import (A, B, BITS, FAMILIES, FAR, MULTI, R1, direct, limit, routed, switched,
                      two_links)
from wire import TCP, Sniffer, forge


@case("M21", "a bridge at 9000 on a port of 1500", *FAMILIES)
def bridge_above_port(network, family):
    a, b = network.space("A"), network.space("B")
    network.link(a, "p0", b, "eth0", 1500, 9000)
    a.ip("link add br0 type bridge forward_delay 0 mcast_snooping 0")
    a.ip("link set p0 master br0")
    a.mtu("br0", 9000)
    a.up("br0")
    a.address("br0", f"{A[family]}/{BITS[family]}")
    b.address("eth0", f"{B[family]}/{BITS[family]}")
    daemon = start(network, a, config(
        {"b": {"Address": B[family], "Interface": "br0", "ExpectMTU": 9000}}))
    # 1500 and the room for a VLAN tag that every veth leaves
    daemon.wait_peer("b", Verdict=lambda v: v in ("black-hole", "misconfigured"), PathMTU=1504,
                     Severity=lambda s: s in ("warning", "critical"))
    daemon.rounds("b", 2, PathMTU=1504)
    equal("alerts of all kinds", len(daemon.alerts()), 1)
    never(daemon, "b", "reduced", "consistent", "partial")
    assert "mtu 1500" in a.ip("link show p0") and "mtu 9000" in a.ip("link show br0")


@case("M23", "this host's own packet filter refuses large packets",
      *(f"{family} {verb}" for family in FAMILIES for verb in ("drop", "reject")))
def own_filter(network, variant):
    family, verb = variant.split()
    a, _ = direct(network, 1500)
    a.filter("out", [f"meta length > 1400 {verb}"], hook="output", priority=0)
    daemon = start(network, a, config({"b": {"Address": B[family], "Interface": "eth0"}}))
    state = daemon.wait_peer("b", Verdict="misconfigured", PathMTU=1400, Severity="warning")
    holds(state, Locus="local", Direction="forward", Router="")
    assert state["Reason"], "no reason"
    state = daemon.rounds("b", 4, Verdict="misconfigured", PathMTU=1400)
    one_alert(daemon, "b", "misconfigured")
    assert state["ProbesSent"] <= 60 * state["Rounds"], state["ProbesSent"]
    assert len(daemon.records) <= 4, [r.get("MESSAGE") for r in daemon.records]
    never(daemon, "b", "black-hole", "reduced", "consistent", "unreachable")
    a.unfilter("out")
    consistent(daemon, "b", 1500)
    recovered(daemon, "b")


@case("M23 all", "this host's own packet filter refuses everything",
      *(f"{family} {verb}" for family in FAMILIES for verb in ("drop", "reject")))
def own_filter_all(network, variant):
    family, verb = variant.split()
    a, _ = direct(network, 1500)
    # the neighbour has to be found all the same
    what = "ip daddr" if family == "ipv4" else "meta l4proto { tcp, udp, icmpv6 } ip6 daddr"
    a.filter("out", ["icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept",
                     f"{what} {B[family]} {verb}"], hook="output", priority=0)
    daemon = start(network, a, config({"b": {"Address": B[family], "Interface": "eth0"}}))
    state = daemon.wait_peer("b", Verdict="unreachable", Severity="warning")
    assert "permit" in state["Reason"] or "refuse" in state["Reason"], state["Reason"]
    equal("PathMTU", state["PathMTU"], 0)
    state = daemon.rounds("b", 4, Verdict="unreachable")
    one_alert(daemon, "b", "unreachable")
    assert len(daemon.records) <= 4, [r.get("MESSAGE") for r in daemon.records]
    never(daemon, "b", "black-hole", "reduced", "consistent", "misconfigured")


@case("M26", "a route MTU larger than the link", *FAMILIES)
def route_above_link(network, family):
    a, _, _ = switched(network, 9000, a_mtu=1500)
    bits, mtu = (32, 9000) if family == "ipv4" else (128, 6000)
    a.route(f"add {B[family]}/{bits} dev eth0 mtu {mtu}")
    daemon = start(network, a, config({"b": {"Address": B[family], "Interface": "eth0"}}))
    consistent(daemon, "b", 1500)

    def told():
        return findings(daemon.peer("b") or {"Findings": []}, "route-mtu-above-link")
    said = daemon.wait("the finding", told)
    equal("severity", said[0][1], "warning")
    assert str(mtu) in said[0][2] and "1500" in said[0][2], said
    daemon.rounds("b", 3, Verdict="consistent", PathMTU=1500)
    one_alert(daemon, "b")
    never(daemon, "b", "black-hole", "reduced")
    a.route(f"replace {B[family]}/{bits} dev eth0 mtu lock 1400")
    state = daemon.wait_peer("b", Verdict="consistent", PathMTU=1400, Findings=lambda all_:
                             [f[:2] for f in all_] == [["route-mtu-below-link", "notice"]])
    assert "1400" in state["Findings"][0][2], state["Findings"]
    never(daemon, "b", "black-hole", "reduced")


@case("M28", "traffic leaves by another link than the configured one", *FAMILIES)
def wrong_link(network, family):
    a, b = network.space("A"), network.space("B")
    network.link(a, "mgmt", b, "mgmt", 1500)
    network.link(a, "stor", b, "stor", 9000)
    ends = {"ipv4": (("10.1.0.1", "10.1.0.2"), ("10.2.0.1", "10.2.0.2")),
            "ipv6": (("2001:db8:61::1", "2001:db8:61::2"), ("2001:db8:62::1", "2001:db8:62::2"))}
    for device, (near, far) in zip(("mgmt", "stor"), ends[family]):
        a.address(device, f"{near}/{BITS[family]}")
        b.address(device, f"{far}/{BITS[family]}")
    target, bits = MULTI[family], 32 if family == "ipv4" else 128
    b.address("lo", f"{target}/{bits}")
    a.route(f"add {target}/{bits} via {ends[family][0][1]}")
    sniffer = Sniffer(network, a, "stor")
    daemon = start(network, a, config(
        {"b": {"Address": target, "Interface": "stor", "ExpectMTU": 9000}}))
    state = daemon.wait_peer("b", Verdict="misconfigured", Severity="warning", PathMTU=1500,
                             Locus="local")
    assert "mgmt" in state["Reason"] and "stor" in state["Reason"], state["Reason"]
    daemon.rounds("b", 3, Verdict="misconfigured", PathMTU=1500)
    one_alert(daemon, "b", "misconfigured")
    # it would be answered there, though no other packet goes that way
    equal("probes by the other link", sniffer.probes(target), [])
    never(daemon, "b", "consistent", "black-hole", "reduced")
    a.route(f"replace {target}/{bits} via {ends[family][1][1]}")
    consistent(daemon, "b", 9000, Interface="stor", LinkMTU=9000)
    recovered(daemon, "b")


@case("M48", "a link with others stacked on it: found, repaired, and nothing touched", *FAMILIES)
def stacked(network, family):
    a, _, s1 = switched(network)
    target = {"ipv4": "10.11.0.2", "ipv6": "2001:db8:b::2"}[family]
    own = {"ipv4": "10.11.0.1", "ipv6": "2001:db8:b::1"}[family]
    a.ip("link add mv0 link eth0 mtu 9000 type macvlan mode bridge")
    a.ip("link add vx0 type vxlan id 9 dstport 4789 dev eth0 remote 192.0.2.2")
    for device in ("mv0", "vx0"):
        a.up(device)
    a.address("mv0", f"{own}/{BITS[family]}")
    network.spaces["B"].address("eth0", f"{target}/{BITS[family]}")
    before = a.ip("-o link show")
    limit(s1, 1500)
    daemon = start(network, a, config({"b": {"Address": B[family], "Interface": "eth0"},
                                       "mv": {"Address": target, "Interface": "mv0"}}))
    for name in ("b", "mv"):
        black_hole(daemon, name, 1500, Locus="on-link")
        one_alert(daemon, name, "black-hole")
    s1.mtu("trunk", 9000)
    for name in ("b", "mv"):
        consistent(daemon, name, 9000)
        recovered(daemon, name)
    equal("links", a.ip("-o link show"), before)


@case("M49 tcp", "forged reports about TCP probes do not move the verdict", *FAMILIES)
def forged_about_tcp(network, family):
    a, r1, _ = routed(network, 1500)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "tcp"}},
                                      Interval="1s"))
    consistent(daemon, "b", 1500)
    hardware = a.hardware_address("eth0")
    for mtu in (0, 551, 1279, 1300, 65535):
        for claimed in (FAR[family], R1[family]):
            quoted = sniffer.last(lambda p: p.outgoing and p.to == FAR[family]
                                  and p.protocol == TCP and p.size == 1500).bytes
            forge(r1, "near", hardware, claimed, A[family], mtu, quoted)
        daemon.rounds("b", 1, Verdict="consistent", PathMTU=1500)
    silent(daemon)
    never(daemon, "b", "black-hole", "reduced", "unreachable", "misconfigured")
    assert all(p.df and not p.fragment for p in sniffer.probes(FAR[family])), "without DF"
    if family == "ipv4":
        assert " mtu " not in a.ip(f"route get {FAR[family]}"), a.ip(f"route get {FAR[family]}")


@case("wrong link of two", "one configured link that no route uses", *FAMILIES)
def unused_link(network, family):
    a, _ = two_links(network, family)
    bits = 32 if family == "ipv4" else 128
    a.route(f"replace {MULTI[family]}/{bits} via {B[family]}")
    if family == "ipv6":
        a.ip(f"-6 route flush {MULTI[family]}/{bits}")
        a.route(f"add {MULTI[family]}/{bits} via {B[family]}")
    sniffer = Sniffer(network, a, "eth1")
    daemon = start(network, a, config(
        {"san": {"Address": MULTI[family], "Interface": ["eth0", "eth1"]}}))
    state = daemon.wait_peer("san", Verdict="misconfigured", Paths=lambda p: len(p) == 2)
    equal("verdicts", sorted(p["Verdict"] for p in state["Paths"]), ["consistent", "misconfigured"])
    daemon.rounds("san", 4, Verdict="misconfigured")
    equal("probes by the unused link", sniffer.probes(MULTI[family]), [])
    never(daemon, "san", "black-hole", "reduced")
