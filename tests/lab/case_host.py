# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is wrong or changes on this host itself: its links, its routes, its gateways."""

from cases import black_hole, case, consistent, equal, never, one_alert, recovered, silent, start
from daemon import config
from topology import A, B, BITS, FAMILIES, both, direct, limit, routed, switched


@case("M29", "the interface came up smaller than expected", *FAMILIES)
def came_up_small(network, family):
    a, _, _ = switched(network, 9001, a_mtu=1500)
    daemon = start(network, a, config({"b": {"Address": B[family], "ExpectMTU": 9001}},
                                      {"eth0": {"ExpectMTU": 9001}}))
    state = daemon.wait_peer("b", Verdict="misconfigured", Severity="warning", PathMTU=1500,
                             LinkMTU=1500, ExpectedMTU=9001)
    assert state["Reason"], "no reason"
    link = daemon.wait_link("eth0", MTU=1500, ExpectedMTU=9001)
    equal("findings of eth0", [f[0] for f in link["Findings"]], ["link-below-expected"])
    daemon.rounds("b", 3, Verdict="misconfigured", PathMTU=1500)
    one_alert(daemon, "b", "misconfigured")
    about_link = [r for r in daemon.alerts() if "MTUWATCH_PEER" not in r]
    equal("alerts about the link", about_link, [])  # one fault, one alarm
    assert "mtu 1500" in a.ip("link show eth0"), "somebody changed the link"
    before = daemon.peer("b")["Rounds"]
    a.mtu("eth0", 9001)
    state = consistent(daemon, "b", 9001, LinkMTU=9001)
    assert state["Rounds"] - before <= 3, state["Rounds"] - before
    recovered(daemon, "b")
    daemon.wait_link("eth0", MTU=9001, Findings=[])
    never(daemon, "b", "black-hole", "reduced")


@case("M29 route", "a route whose own MTU is smaller than expected", *FAMILIES)
def route_small(network, family):
    a, _ = direct(network, 9000)
    a.route(f"add {B[family]}/{32 if family == 'ipv4' else 128} dev eth0 mtu lock 1400")
    daemon = start(network, a, config({"b": {"Address": B[family], "ExpectMTU": 9000}}))
    daemon.wait_peer("b", Verdict="misconfigured", Severity="warning", PathMTU=1400,
                     LinkMTU=9000, Findings=lambda all_: "route-mtu-below-link" in
                     [f[0] for f in all_])
    one_alert(daemon, "b", "misconfigured")
    never(daemon, "b", "black-hole", "reduced")


@case("M29 far side", "the far side of a link that came up small")
def far_side_small(network):
    _, b, _ = switched(network, 9001, a_mtu=1500)
    daemon = start(network, b, config({"a": {"Address": A["ipv4"], "ExpectMTU": 9001}}))
    black_hole(daemon, "a", 1504)  # a veth takes a VLAN tag more


@case("gateways", "discovered without any configuration", *FAMILIES)
def gateways(network, family):
    a, _, _ = routed(network, 1500)
    a.route(f"add default via {'192.0.2.254' if family == 'ipv4' else '2001:db8:1::fe'}")
    daemon = start(network, a, "")
    peers = daemon.wait("a gateway", daemon.peers)
    equal("peers", len(peers), 1)
    (name, state), = peers.items()
    equal("Origin", state["Origin"], "gateway")
    consistent(daemon, name, 1500)
    silent(daemon)


@case("gateways all", "IPv4, IPv6, link-local, multipath, a second table")
def gateways_all(network):
    a, s1 = network.space("A"), network.switch("S1")
    network.link(a, "eth0", s1, "pa")
    a.address("eth0", *both(A))
    a.ip("address add fe80::a/64 dev eth0 nodad")
    routers = []
    for number in range(1, 5):
        router = network.space(f"R{number}", router=True)
        routers.append(router)
        network.link(router, "near", s1, f"p{number}")
        router.address("near", f"192.0.2.{200 + number}/24", f"2001:db8:1::f{number}/64",
                       f"fe80::f{number}/64")
    a.ip("route add default nexthop via 192.0.2.201 dev eth0 nexthop via 192.0.2.202 dev eth0")
    a.ip("route add default via 192.0.2.203 dev eth0 table 100")
    a.ip("-6 route add default via 2001:db8:1::f1 dev eth0")
    a.ip("-6 route add default via fe80::f4 dev eth0 metric 2048")
    a.ip("route add blackhole default table 101")
    daemon = start(network, a, config(Discover="gateways", Interval="1s"))
    wanted = {"192.0.2.201", "192.0.2.202", "192.0.2.203", "2001:db8:1::f1", "fe80::f4%eth0"}

    def found():
        good = {p["Address"] for p in daemon.peers().values() if p["Verdict"] == "consistent"}
        return good >= wanted
    daemon.wait(f"gateways {wanted}", found)
    equal("gateways", {p["Address"] for p in daemon.peers().values()}, wanted)
    silent(daemon)

    a.ip("route del default table 100")
    daemon.wait("the gateway of the deleted route to go",
                lambda: "192.0.2.203" not in {p["Address"] for p in daemon.peers().values()})
    a.ip("route add default via 192.0.2.204 dev eth0 table 102")
    daemon.wait("the gateway of the new route", lambda: "192.0.2.204" in {
        p["Address"] for p in daemon.peers().values() if p["Verdict"] == "consistent"})
    silent(daemon)


@case("gateway dumb", "a gateway that never answers alarms nobody", *FAMILIES)
def gateway_dumb(network, family):
    a, r1, _ = routed(network, 1500)
    gateway = "192.0.2.254" if family == "ipv4" else "2001:db8:1::fe"
    a.route(f"add default via {gateway}")
    dumb = ["icmp type echo-request drop", "icmpv6 type echo-request drop",
            "meta l4proto { tcp, udp } drop"]
    r1.filter("dumb", dumb, hook="input", priority=0)
    daemon = start(network, a, config(Discover="gateways", Interval="1s"))
    name = next(iter(daemon.wait("a gateway", daemon.peers)))
    daemon.wait_peer(name, Verdict="unverifiable")
    daemon.rounds(name, 2, Verdict="unverifiable", Severity=lambda s: s != "critical"
                  and s != "warning")
    silent(daemon)
    r1.unfilter("dumb")
    consistent(daemon, name, 1500)
    # one that has answered and then does not is another matter; in the midst of a check that takes longer
    r1.filter("dumb", dumb, hook="input", priority=0)
    daemon.wait_peer(name, Verdict="unreachable", Severity="warning", deadline=120)


@case("gateway hole", "a discovered gateway's fault is at most a warning")
def gateway_hole(network):
    a, r1, _ = routed(network, 9000)
    a.ip("route add default via 192.0.2.254")
    r1.drop_above(1500, "near")
    daemon = start(network, a, config(Discover="gateways", Interval="1s"))
    name = next(iter(daemon.wait("a gateway", daemon.peers)))
    black_hole(daemon, name, 1500, severity="warning")
    daemon.rounds(name, 2, Verdict="black-hole", Severity="warning")
    one_alert(daemon, name, "black-hole")


@case("reroute", "a route that moves the peer to another link", *FAMILIES)
def reroute(network, family):
    a, b = direct(network, 9000)
    network.link(a, "eth1", b, "eth1", 1500)
    far = {"ipv4": "203.0.113.2", "ipv6": "2001:db8:9::2"}[family]
    bits = 32 if family == "ipv4" else 128
    near = {"ipv4": ("10.1.0.1", "10.1.0.2"), "ipv6": ("2001:db8:8::1", "2001:db8:8::2")}[family]
    a.address("eth1", f"{near[0]}/{BITS[family]}")
    b.address("eth1", f"{near[1]}/{BITS[family]}")
    b.address("lo", f"{far}/{bits}")
    a.route(f"add {far}/{bits} via {B[family]}")
    daemon = start(network, a, config({"b": {"Address": far}}, Interval="10min"))
    consistent(daemon, "b", 9000, Interface="eth0", LinkMTU=9000)
    rounds = daemon.peer("b")["Rounds"]
    a.route(f"replace {far}/{bits} via {near[1]}")
    consistent(daemon, "b", 1500, Interface="eth1", LinkMTU=1500)
    a.route(f"replace {far}/{bits} via {B[family]}")
    state = consistent(daemon, "b", 9000, Interface="eth0", LinkMTU=9000)
    assert 2 <= state["Rounds"] - rounds <= 8, state["Rounds"] - rounds
    silent(daemon)
    never(daemon, "b", "black-hole", "reduced", "unreachable")


@case("unrelated route", "changes of other routes start nothing")
def unrelated_route(network):
    a, _ = direct(network, 1500)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="10min"))
    consistent(daemon, "b", 1500)
    # the round that the host's own start may still cause
    daemon.check("b")
    rounds = daemon.peer("b")["Rounds"]
    a.batch([f"route add 10.{i // 250}.{i % 250}.0/24 via {B['ipv4']}" for i in range(1000)])
    a.batch([f"route del 10.{i // 250}.{i % 250}.0/24" for i in range(1000)])
    # the next thing that it does hear comes after them
    a.mtu("eth0", 1400)
    state = daemon.wait_peer("b", LinkMTU=1400, PathMTU=1400)
    assert state["Rounds"] - rounds <= 3, state["Rounds"] - rounds


@case("storm", "2000 MTU changes, then the right state", *FAMILIES)
def storm(network, family):
    a, _, _ = switched(network)
    daemon = start(network, a, config({"b": {"Address": B[family]}}, Interval="10min"))
    consistent(daemon, "b", 9000)
    before = daemon.peer("b")
    a.batch([f"link set eth0 mtu {1400 + i}" for i in range(2000)] + ["link set eth0 mtu 1777"])
    state = consistent(daemon, "b", 1777, LinkMTU=1777)
    daemon.wait_link("eth0", MTU=1777)
    state = daemon.rounds("b", 0)
    assert state["Rounds"] - before["Rounds"] <= 20, state["Rounds"] - before["Rounds"]
    assert state["ProbesSent"] - before["ProbesSent"] <= 200, state["ProbesSent"]
    never(daemon, "b", "black-hole", "reduced", "unreachable", "misconfigured")
    silent(daemon)


@case("storm links", "an overrun: 600 links come and go, then the right state")
def storm_links(network):
    a, _ = direct(network, 9000)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="10min"))
    consistent(daemon, "b", 9000)
    a.batch([f"link add t{i} type ifb" for i in range(300)]
            + [f"link set t{i} mtu {1300 + j}" for i in range(300) for j in range(5)]
            + [f"link delete t{i}" for i in range(299)] + ["link set eth0 mtu 1777"])
    consistent(daemon, "b", 1777, LinkMTU=1777)
    daemon.wait_link("t299", MTU=1304)
    daemon.wait("the other links gone",
                lambda: {x["Name"] for x in daemon.objects("org.mtuwatch1.Link")}
                <= {"lo", "eth0", "t299"})


@case("no answer above link", "hole and link change: the number is of the time after")
def hole_and_change(network):
    a, _, s1 = switched(network)
    limit(s1, 1500)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    black_hole(daemon, "b", 1500)
    a.mtu("eth0", 1500)
    consistent(daemon, "b", 1500, ExpectedMTU=1500)
    a.mtu("eth0", 9000)
    black_hole(daemon, "b", 1500)
