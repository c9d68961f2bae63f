# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which way it is that is bad, behind which hop, and whether it is bad at all."""

from cases import (black_hole, case, consistent, equal, findings, holds, never, no_large_echo,
                   one_alert, only_echo, recovered, responder, silent, start, suspected_hole)
from daemon import config
from topology import (A, B, BITS, FAMILIES, FAR, FAR_R, HOPS, R1, both, chain, routed, switched,
                      two_ways)


def bad_way(network, port):
    """The switch port towards A ("pa") or its trunk towards B swallows what comes in there."""
    a, b, s1 = switched(network)
    s1.filter("above", [f'iifname "{port}" meta length > 1500 drop'], family="bridge")
    return a, b


@case("M17 icmp", "reads hang, writes do not: echo alone cannot tell which way", *FAMILIES)
def way_back_echo(network, family):
    a, _ = bad_way(network, "trunk")
    daemon = start(network, a, config({"filer": {"Address": B[family], "ExpectMTU": 9000,
                                                 "Method": "icmp"}}))
    suspected_hole(daemon, "filer", 1500)
    daemon.rounds("filer", 2, Verdict="black-hole", Direction="unknown", Confirmed=False)
    one_alert(daemon, "filer", "black-hole")
    never(daemon, "filer", "consistent", "reduced", "partial")


@case("M17", "one bad way: the daemons at both ends say the mirrored thing",
      *(f"{family} {way}" for family in FAMILIES for way in ("back", "there")))
def one_bad_way(network, variant):
    family, way = variant.split()
    a, b = bad_way(network, "trunk" if way == "back" else "pa")
    daemons = {}
    for space, name, address in ((a, "filer", B[family]), (b, "client", A[family])):
        daemons[name] = start(network, space, config(
            {name: {"Address": address, "ExpectMTU": 9000}}, Responder="yes"))
    hit, other = ("client", "filer") if way == "back" else ("filer", "client")

    # nothing larger arrives, so that nothing larger can come back: no less than that is known
    black_hole(daemons[hit], hit, 1500, ReturnMTU=lambda mtu: mtu in (0, 1500, 9000))
    state = black_hole(daemons[other], other, 9000, direction="return", ReturnMTU=1500)
    equal("locus of what is lost on the way back", state["Locus"], "")
    told = one_alert(daemons[other], other, "black-hole")
    assert "1500" in told["MESSAGE"] and "above 9000" not in told["MESSAGE"], told["MESSAGE"]
    daemons[hit].rounds(hit, 2, Verdict="black-hole", PathMTU=1500, Direction="forward")
    daemons[other].rounds(other, 2, Verdict="black-hole", PathMTU=9000, ReturnMTU=1500,
                          Direction="return")
    for name, daemon in daemons.items():
        one_alert(daemon, name, "black-hole")
        never(daemon, name, "consistent", "reduced", "partial")


@case("M17 both", "both ways bad, each by its own number", *FAMILIES)
def both_ways(network, family):
    a, b = bad_way(network, "trunk")
    network.spaces["S1"].filter("there", ['iifname "pa" meta length > 4000 drop'], family="bridge")
    responder(network, b)
    daemon = start(network, a, config({"b": {"Address": B[family], "ExpectMTU": 9000,
                                             "Method": "responder"}}))
    black_hole(daemon, "b", 4000, direction="both", ReturnMTU=1500)
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=4000, ReturnMTU=1500)
    one_alert(daemon, "b", "black-hole")


@case("return fragments", "a way back that fragments is not a clean both-ways", *FAMILIES)
def fragmented_return(network, family):
    a, _, _, _ = two_ways(network, 1500)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "ExpectMTU": 9000}}))

    def told():
        state = daemon.peer("b")
        found = state and state["PathMTU"] and findings(state, "return-smaller")
        return state if found else None
    state = daemon.wait("finding return-smaller", told)
    equal("PathMTU", state["PathMTU"], 9000)
    # the largest fragment is a multiple of 8 beside its header: up to 7 below the link's MTU
    assert 1493 <= state["ReturnMTU"] <= 1500, state["ReturnMTU"]
    never(daemon, "b", "black-hole")
    daemon.rounds("b", 4, PathMTU=9000)
    never(daemon, "b", "black-hole", "partial", "misconfigured")


@case("M20", "IPv6: the first large answer is lost, later ones come in fragments")
def first_answer_lost(network):
    a, _, _, b = two_ways(network, 1500)
    daemon = start(network, a, config({"b": {"Address": FAR["ipv6"], "ExpectMTU": 9000,
                                             "Method": "icmp"}}))
    state = daemon.wait_peer("b", Verdict="reduced", Direction="return", PathMTU=9000)
    assert 1488 < state["ReturnMTU"] <= 1500, state["ReturnMTU"]
    equal("locus", state["Locus"], "")
    for _ in range(3):
        b.ip("-6 route flush cache")  # what B learned expires after ten minutes
        daemon.rounds("b", 2, Verdict="reduced", PathMTU=9000, Direction="return")
    one_alert(daemon, "b", "reduced")
    equal("changes", daemon.verdicts("b"), [])
    never(daemon, "b", "black-hole", "partial", "unreachable")


@case("M20 responder", "a way back that is smaller and honest is no black hole", *FAMILIES)
def honest_return(network, family):
    a, _, _, b = two_ways(network, 1500)
    responder(network, b)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "ExpectMTU": 9000,
                                             "Method": "responder"}}))
    # R2 tells B, and B's own packets to A get through
    daemon.wait_peer("b", PathMTU=9000, ReturnMTU=1500, Verdict="reduced", Direction="return")
    daemon.rounds("b", 3, Verdict="reduced", PathMTU=9000, ReturnMTU=1500)
    never(daemon, "b", "black-hole", "partial", "unreachable")


# echo alone against everything else

@case("M43 icmp", "only large echoes are dropped: echo alone says so, and no more", *FAMILIES)
def only_large_echo(network, family):
    a, _, b = routed(network, 9000)
    no_large_echo(b, 1400)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "icmp"}}))
    suspected_hole(daemon, "b", 1400)
    one_alert(daemon, "b", "black-hole")
    daemon.rounds("b", 3, Verdict="black-hole", Severity="warning", Confirmed=False)
    never(daemon, "b", "reduced", "partial")


@case("M43", "only large echoes are dropped, by a method that is none",
      *(f"{family} {method}" for family in FAMILIES for method in ("tcp", "udp", "responder")))
def not_by_echo(network, variant):
    family, method = variant.split()
    a, _, b = routed(network, 9000)
    no_large_echo(b, 1400)
    if method == "responder":
        responder(network, b)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": method}}))
    consistent(daemon, "b", 9000)
    daemon.rounds("b", 2, Verdict="consistent", PathMTU=9000,
                  ReturnMTU=9000 if method == "responder" else 0)
    silent(daemon)
    never(daemon, "b", "black-hole", "reduced", "partial")


@case("M43 auto", "only large echoes are dropped: the other method has the last word",
      *(f"{family} {other}" for family in FAMILIES for other in ("tcp", "responder")))
def echo_overruled(network, variant):
    family, other = variant.split()
    a, _, b = routed(network, 9000)
    no_large_echo(b, 1028 if family == "ipv4" else 1400)
    if other == "responder":
        responder(network, b)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    state = consistent(daemon, "b", 9000, ReturnMTU=9000 if other == "responder" else 0)
    said = daemon.wait("the notice", lambda: findings(daemon.peer("b"), "echo-limited"))
    assert said[0][1] == "notice" and ("1028" if family == "ipv4" else "1400") in said[0][2], said
    state = daemon.rounds("b", 4, Verdict="consistent", PathMTU=9000, Severity="ok")
    assert state["ProbesSent"] <= 45 * state["Rounds"], state["ProbesSent"]
    silent(daemon)
    never(daemon, "b", "black-hole", "reduced", "partial")


@case("gateway keeps to itself", "a gateway that drops large pings only for itself", *FAMILIES)
def gateway_itself(network, family):
    a, r1, _ = routed(network, 9000)
    no_large_echo(r1, 1400)
    only_echo(r1)
    daemon = start(network, a, config({"gw": {"Address": R1[family]},
                                       "b": {"Address": FAR[family]}}))
    consistent(daemon, "b", 9000)
    consistent(daemon, "gw", 9000)
    daemon.rounds("gw", 3, Verdict="consistent")
    daemon.rounds("b", 1, Verdict="consistent", PathMTU=9000)
    silent(daemon, "b")
    assert not [r for r in daemon.alerts() if r["PRIORITY"] == "3"], "announced as critical"
    never(daemon, "b", "black-hole", "reduced", "partial")


@case("borne out", "two peers behind one hole that answer only echo bear each other out", *FAMILIES)
def borne_out(network, family):
    a, b, s1 = switched(network)
    second = {"ipv4": "192.0.2.3", "ipv6": "2001:db8:1::3"}[family]
    c = network.space("C")
    network.link(c, "eth0", network.spaces["S2"], "pc", 9000)
    c.address("eth0", f"{second}/{BITS[family]}")
    only_echo(b)
    only_echo(c)
    daemon = start(network, a, config({"b": {"Address": B[family]}, "c": {"Address": second}}))
    for name in ("b", "c"):
        consistent(daemon, name, 9000)
    s1.mtu("trunk", 1500 - 4)
    for name in ("b", "c"):
        daemon.wait_peer(name, Verdict="black-hole", PathMTU=1500, Confirmed=True,
                         Severity="critical", Locus="on-link")
    for name in ("b", "c"):
        daemon.rounds(name, 2, Verdict="black-hole", Confirmed=True)
        never(daemon, name, "reduced", "partial")


@case("alone", "a hole that nothing but echo knows of is a warning", *FAMILIES)
def not_borne_out(network, family):
    a, _, b = routed(network, 9000)
    b.drop_above(1500, "eth0")
    only_echo(b)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}, "gw": {"Address": R1[family]}}))
    suspected_hole(daemon, "b", 1500, Locus=f"after {R1[family]}")
    consistent(daemon, "gw", 9000)
    daemon.rounds("b", 2, Verdict="black-hole", Confirmed=False, Severity="warning")
    equal("PRIORITY", one_alert(daemon, "b", "black-hole")["PRIORITY"], "4")
    silent(daemon, "gw")
    b.unfilter("above")
    consistent(daemon, "b", 9000)
    recovered(daemon, "b")


# where

@case("locus", "the last hop that the full size reached",
      *(f"{family} {hop}" for family in FAMILIES for hop in range(4)))
def locus(network, variant):
    family, hop = variant.split()
    hop = int(hop)
    a, routers, b = chain(network)
    # the hole is in what comes after this many routers
    if hop < 3:
        routers[hop].drop_above(3000, "near")
    else:
        b.drop_above(3000, "eth0")
    near = [R1[family], HOPS[family][1][1], HOPS[family][2][1]]
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    wanted = f"after {near[hop - 1]}" if hop else "on-link"
    black_hole(daemon, "b", 3000, Locus=wanted)
    sent = daemon.peer("b")["ProbesSent"]
    state = daemon.rounds("b", 3, Verdict="black-hole", PathMTU=3000, Locus=wanted)
    # a walk is made for a change, not for every round
    assert state["ProbesSent"] - sent <= 3 * 40, state["ProbesSent"] - sent
    one_alert(daemon, "b", "black-hole")


@case("locus moves", "another hole, another place")
def locus_moves(network):
    a, routers, _ = chain(network)
    daemon = start(network, a, config({"b": {"Address": FAR["ipv4"]}}))
    consistent(daemon, "b", 9000)
    routers[2].drop_above(3000, "near")
    black_hole(daemon, "b", 3000, Locus=f"after {HOPS['ipv4'][1][1]}")
    routers[1].drop_above(2000, "near")
    black_hole(daemon, "b", 2000, Locus=f"after {R1['ipv4']}")
    routers[1].unfilter("above")
    routers[2].unfilter("above")
    consistent(daemon, "b", 9000)


# reports that go astray, and tunnels

def tunnelled(network):
    """A–R1–R2–B, all 1500 but R2–B. The way back from B is left to the case."""
    a, b = network.space("A"), network.space("B")
    r1, r2 = network.space("R1", router=True), network.space("R2", router=True)
    network.link(a, "eth0", r1, "near")
    network.link(r1, "far", r2, "near")
    network.link(r2, "far", b, "eth0", 1420)
    a.address("eth0", *both(A))
    r1.address("near", *both(R1))
    r2.address("far", *both(FAR_R))
    b.address("eth0", *both(FAR))
    for f in FAMILIES:
        r1.address("far", f"{HOPS[f][1][0]}/{BITS[f]}")
        r2.address("near", f"{HOPS[f][1][1]}/{BITS[f]}")
        a.route(f"add default via {R1[f]}")
        b.route(f"add default via {FAR_R[f]}")
        r1.route(f"add default via {HOPS[f][1][1]}")
    return a, r1, r2, b


@case("M06 a", "the report goes to the translator, never to the LAN", *FAMILIES)
def report_to_translator(network, family):
    a, r1, _, _ = tunnelled(network)
    for f, name in (("ip", "nat4"), ("ip6", "nat6")):
        r1.nft(f"table {f} {name} {{\n\tchain out {{\n"
               "\t\ttype nat hook postrouting priority 100;\n"
               '\t\toifname "far" masquerade\n\t}\n}\n')
    r1.no_reports(hook="prerouting")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Interface": "eth0"}}))
    black_hole(daemon, "b", 1420, Locus=lambda text: text.startswith("after "))
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1420)
    one_alert(daemon, "b", "black-hole")
    never(daemon, "b", "reduced", "consistent", "partial")


def too_bigs(space, family):
    """Reports that this host's kernel got so far."""
    with space.entered():
        with open("/proc/thread-self/net/snmp" + ("6" if family == "ipv6" else ""),
                  encoding="ascii") as file:
            text = file.read()
    if family == "ipv6":
        return int(next(line.split()[1] for line in text.splitlines()
                        if line.startswith("Icmp6InPktTooBigs")))
    names, values = (line.split() for line in text.splitlines() if line.startswith("Icmp:"))
    return int(values[names.index("InDestUnreachs")])


@case("M06 b", "the report goes to the other node of an anycast address", *FAMILIES)
def report_to_other_node(network, family):
    a, r1, r2, _ = tunnelled(network)
    other = network.space("A2")
    network.link(other, "eth0", r1, "near2")
    service = {"ipv4": "203.0.113.10", "ipv6": "2001:db8:77::10"}[family]
    second = {"ipv4": ("10.7.0.1", "10.7.0.2"), "ipv6": ("2001:db8:78::1", "2001:db8:78::2")}[family]
    bits = 32 if family == "ipv4" else 128
    for space in (a, other):
        space.address("lo", f"{service}/{bits}")
    other.address("eth0", f"{second[1]}/{BITS[family]}")
    r1.address("near2", f"{second[0]}/{BITS[family]}")
    other.route(f"add default via {second[0]}")
    r1.route(f"add {service}/{bits} via {A[family]}")
    r1.route(f"add {service}/{bits} via {second[1]} table 7")
    six = "-6 " if family == "ipv6" else ""
    for sender in (HOPS[family][1][1], FAR_R[family]):
        r1.ip(f"{six}rule add from {sender} lookup 7")
    for f in FAMILIES:
        r2.route(f"add default via {HOPS[f][1][0]}")
    first = start(network, a, config({"b": {"Address": FAR[family], "Source": service}}))
    bystander = start(network, other, config({
        "gw": {"Address": second[0], "Source": second[1]},
        "r2": {"Address": HOPS[family][1][1], "Source": second[1]}}, Interval="1s"))
    for name in ("gw", "r2"):
        consistent(bystander, name, 1500)
    before = too_bigs(other, family)
    black_hole(first, "b", 1420)
    one_alert(first, "b", "black-hole")
    never(first, "b", "reduced", "consistent")
    bystander.wait("reports at the other node", lambda: too_bigs(other, family) > before)
    for name in ("gw", "r2"):
        bystander.rounds(name, 3, Verdict="consistent", PathMTU=1500, Findings=[])
        never(bystander, name, "reduced", "black-hole", "misconfigured")
    silent(bystander)
    assert "mtu 1500" in other.ip("link show eth0")


@case("M11", "encapsulated packets fragmented, the fragments dropped", *FAMILIES)
def fragments_dropped(network, family):
    a, r1, b = routed(network, 1500)
    r1.filter("fragments", ["ip frag-off & 0x1fff != 0 drop"], priority=-450)
    inner = {"ipv4": ("203.0.113.1", "203.0.113.2"),
             "ipv6": ("2001:db8:aa::1", "2001:db8:aa::2")}[family]
    for space, local, remote, address in ((a, A, FAR, inner[0]), (b, FAR, A, inner[1])):
        space.ip(f"link add vx0 type vxlan id 7 local {local['ipv4']} remote {remote['ipv4']} "
                 "dstport 4789")
        space.mtu("vx0", 1500)
        space.up("vx0")
        space.address("vx0", f"{address}/{BITS[family]}")
    daemon = start(network, a, config({
        "pod-b": {"Address": inner[1], "Interface": "vx0"},
        "host-b": {"Address": FAR[family], "Interface": "eth0"}}))
    consistent(daemon, "host-b", 1500)
    state = daemon.wait_peer("pod-b", PathMTU=1450)
    # the tunnel itself tells its host's kernel what fits, and then its senders know
    holds(state, Verdict="reduced" if state["KernelMTU"] == 1450 else "black-hole",
          Direction="forward", Interface="vx0")
    daemon.rounds("pod-b", 2, PathMTU=1450)
    daemon.rounds("host-b", 1, Verdict="consistent", PathMTU=1500)
    silent(daemon, "host-b")
    never(daemon, "pod-b", "consistent", "partial")
    assert "mtu 1500" in a.ip("link show eth0")
