# SPDX-License-Identifier: LGPL-2.1-or-later
"""Peers behind routers: silent ones, honest ones, lying ones, and ones that fall silent."""

from cases import (black_hole, case, consistent, equal, never, one_alert, recovered, reduced,
                   silent, start)
from daemon import config
from topology import A, B, BITS, FAMILIES, FAR, FAR_R, R1, both, routed
from wire import ECHO_REQUEST, Sniffer, forge


@case("M03", "a router that drops without a word", *FAMILIES)
def silent_router(network, family):
    a, r1, _ = routed(network, 9001)
    r1.filter("above", ["meta length > 8500 drop"], hook="forward", priority=0)
    daemon = start(network, a, config({
        "nfs": {"Address": FAR[family], "Interface": "eth0", "ExpectMTU": 9001},
        "gw": {"Address": R1[family], "ExpectMTU": 9001}}))
    # the gateway passes 9001 itself, so that the loss is behind it
    black_hole(daemon, "nfs", 8500, Locus=f"after {R1[family]}")
    consistent(daemon, "gw", 9001)
    daemon.rounds("nfs", 2, Verdict="black-hole", PathMTU=8500)
    daemon.rounds("gw", 2, Verdict="consistent", PathMTU=9001)
    one_alert(daemon, "nfs", "black-hole")
    silent(daemon, "gw")
    never(daemon, "nfs", "reduced", "consistent")


@case("M04", "a container bridge at 1500 behind a 1460 uplink", *FAMILIES)
def uplink(network, family):
    a, r1, r2, b = (network.space("A"), network.space("R1", router=True),
                    network.space("R2", router=True), network.space("B"))
    network.link(a, "eth0", r1, "near", 1500)
    network.link(r1, "far", r2, "near", 1460)
    network.link(r2, "far", b, "eth0", 1500)
    middle = {"ipv4": ("203.0.113.1", "203.0.113.2"), "ipv6": ("2001:db8:3::1", "2001:db8:3::2")}
    a.address("eth0", *both(A))
    r1.address("near", *both(R1))
    r2.address("far", *both(FAR_R))
    b.address("eth0", *both(FAR))
    for f in FAMILIES:
        r1.address("far", f"{middle[f][0]}/{BITS[f]}")
        r2.address("near", f"{middle[f][1]}/{BITS[f]}")
        a.route(f"add default via {R1[f]}")
        b.route(f"add default via {FAR_R[f]}")
        r1.route(f"add default via {middle[f][1]}")
        r2.route(f"add default via {middle[f][0]}")
    r1.no_reports()
    r2.no_reports()
    a.sysctl("net.ipv4.tcp_mtu_probing", 1)
    daemon = start(network, a, config({"registry": {"Address": FAR[family], "Interface": "eth0"}}))
    black_hole(daemon, "registry", 1460, ExpectedMTU=1500, Locus=f"after {R1[family]}")
    daemon.rounds("registry", 3, Verdict="black-hole", PathMTU=1460)
    one_alert(daemon, "registry", "black-hole")
    never(daemon, "registry", "consistent", "reduced")


@case("M13", "a report that promises too much", *FAMILIES)
def optimistic(network, family):
    a, _, b = routed(network, 9000, 1500)
    b.drop_above(1400, "eth0")
    daemon = start(network, a, config({
        "b": {"Address": FAR[family], "Interface": "eth0", "ExpectMTU": 9000},
        "gw": {"Address": R1[family]}}))
    black_hole(daemon, "b", 1400, Locus=f"after {R1[family]}")
    consistent(daemon, "gw", 9000)
    state = daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1400)
    wrong = [f for f in state["Findings"] if f[0] == "ptb-wrong"]
    equal("ptb-wrong findings", len(wrong), 1)
    assert "1500" in wrong[0][2] and R1[family] in wrong[0][2], wrong
    equal("black-hole alerts", len([r for r in daemon.alerts("b")
                                    if r.get("MTUWATCH_VERDICT") == "black-hole"]), 1)
    silent(daemon, "gw")
    never(daemon, "b", "reduced", "consistent")


@case("M14 a", "a router with working PMTUD, as expected", *FAMILIES)
def honest_expected(network, family):
    a, _, _ = routed(network, 9001, 8500)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "ExpectMTU": 8500}}))
    consistent(daemon, "b", 8500, ExpectedMTU=8500, LinkMTU=9001)
    daemon.rounds("b", 3, Verdict="consistent", PathMTU=8500)
    silent(daemon)


@case("M14 b", "a router with working PMTUD, less than the link", *FAMILIES)
def honest(network, family):
    a, _, _ = routed(network, 9001, 8500)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    reduced(daemon, "b", 8500, R1[family], "notice")
    daemon.rounds("b", 3, Verdict="reduced", PathMTU=8500)
    silent(daemon)
    equal("notices", len(daemon.told("b", MTUWATCH_VERDICT="reduced", PRIORITY=5)), 1)
    never(daemon, "b", "black-hole")
    if family == "ipv4":
        # measuring leaves the host as it was; over IPv6 the kernel learns from any report
        found = a.ip(f"route get {FAR[family]}")
        assert " mtu " not in found, found


@case("M14 b9001", "a router with working PMTUD, less than was asked for", *FAMILIES)
def honest_asked(network, family):
    a, _, _ = routed(network, 9001, 8500)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "ExpectMTU": 9001}}))
    reduced(daemon, "b", 8500, R1[family], "warning")
    daemon.rounds("b", 3, Verdict="reduced", PathMTU=8500)
    one_alert(daemon, "b", "reduced")


@case("M14 limited", "the same router, one report a second", *FAMILIES)
def honest_limited(network, family):
    a, r1, _ = routed(network, 9001, 8500)
    r1.filter("limited", ["icmp type destination-unreachable icmp code frag-needed "
                          "limit rate over 1/second burst 1 packets drop",
                          "icmpv6 type packet-too-big limit rate over 1/second burst 1 packets drop"],
              hook="output", priority=0)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="2s"))
    reduced(daemon, "b", 8500, R1[family])
    daemon.rounds("b", 6, Verdict="reduced", PathMTU=8500)
    never(daemon, "b", "black-hole", "consistent")


@case("reports stop", "the router falls silent: reduced becomes a black hole", *FAMILIES)
def falls_silent(network, family):
    a, r1, _ = routed(network, 9000, 1500)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    reduced(daemon, "b", 1500, R1[family])
    r1.no_reports()
    # over IPv6 the kernel has learned the size by our probes, and then it is no black hole
    a.ip("-6 route flush cache")
    black_hole(daemon, "b", 1500)
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1500)
    one_alert(daemon, "b", "black-hole")
    r1.unfilter("noptb")
    reduced(daemon, "b", 1500, R1[family])
    daemon.wait("the signals", lambda: [after for _, after in daemon.verdicts("b")] ==
                ["black-hole", "reduced"])


@case("M41", "a peer that is down is not an MTU fault", *FAMILIES)
def down(network, family):
    a, s1, r1, b, d = (network.space("A"), network.switch("S1"),
                       network.space("R1", router=True), network.space("B"), network.space("D"))
    network.link(a, "eth0", s1, "pa", 9000)
    network.link(r1, "near", s1, "pr", 9000)
    network.link(d, "eth0", s1, "pd", 9000)
    network.link(r1, "far", b, "eth0", 9000)
    a.address("eth0", *both(A))
    d.address("eth0", *both(B))
    r1.address("near", *both(R1))
    r1.address("far", *both(FAR_R))
    b.address("eth0", *both(FAR))

    def routes():
        for f in FAMILIES:
            a.route(f"replace default via {R1[f]}")
            b.route(f"replace default via {FAR_R[f]}")
    routes()
    daemon = start(network, a, config({"B": {"Address": FAR[family]}, "D": {"Address": B[family]}}))
    for name in ("B", "D"):
        consistent(daemon, name, 9000)
    silent(daemon)

    b.down("eth0")
    state = daemon.wait_peer("B", Verdict="unreachable", Severity="warning")
    assert state["Reason"], "no reason for B"
    daemon.rounds("D", 1, Verdict="consistent", PathMTU=9000)
    d.down("eth0")
    state = daemon.wait_peer("D", Verdict="unreachable", Severity="warning")
    assert state["Reason"], "no reason for D"
    s1.down("pa")  # carrier loss at A
    for name in ("B", "D"):
        # IPv6 has no routes over a link without carrier
        daemon.wait_peer(name, Verdict="unreachable", Reason=lambda text: "carrier" in text
                         or family == "ipv6" and "route" in text)
    for name in ("B", "D"):
        daemon.rounds(name, 1, Verdict="unreachable")
        one_alert(daemon, name, "unreachable")
        never(daemon, name, "black-hole", "reduced", "misconfigured")

    s1.up("pa")
    d.up("eth0")
    b.up("eth0")
    # IPv6 addresses go with the link
    d.ip(f"address replace {B['ipv6']}/64 dev eth0 nodad")
    b.ip(f"address replace {FAR['ipv6']}/64 dev eth0 nodad")
    routes()
    for name in ("B", "D"):
        consistent(daemon, name, 9000)
        recovered(daemon, name)
        one_alert(daemon, name, "unreachable")


@case("M49", "forged reports do not move the verdict", *FAMILIES)
def forged(network, family):
    a, r1, _ = routed(network, 1500)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Interface": "eth0"}},
                                      Interval="1s"))
    consistent(daemon, "b", 1500)
    hardware = a.hardware_address("eth0")
    values = (0, 68, 551, 1000, 1499, 65535) if family == "ipv4" else (0, 1279, 1280, 1499, 65535)
    for mtu in values:
        for claimed in (FAR[family], R1[family]):
            quoted = sniffer.last(lambda p: p.outgoing and p.to == FAR[family]
                                  and p.kind == ECHO_REQUEST[p.version]).bytes
            for change in (0, 1):  # the identifier of the last probe, and one that nobody used
                at = 20 + 4 if family == "ipv4" else 40 + 4
                ident = bytes([quoted[at], quoted[at + 1] ^ change])
                forge(r1, "near", hardware, claimed, A[family], mtu,
                      quoted[:at] + ident + quoted[at + 2:])
        daemon.rounds("b", 2, Verdict="consistent", PathMTU=1500)
    silent(daemon)
    never(daemon, "b", "black-hole", "reduced", "unreachable", "misconfigured")
    probes = sniffer.requests(FAR[family])
    assert all(p.df and not p.fragment for p in probes), "a probe left without DF or in pieces"
    if family == "ipv4":
        # an open raw socket lets none of it into the route cache
        assert " mtu " not in a.ip(f"route get {FAR[family]}"), a.ip(f"route get {FAR[family]}")
