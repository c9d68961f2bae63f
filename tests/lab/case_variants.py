# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same faults elsewhere: other sizes, behind a translator, under loss, on a bundle's legs, and
where two of them come together."""

from cases import (black_hole, case, consistent, equal, never, no_echo, no_large_echo, one_alert,
                   reduced, responder, silent, start)
from daemon import config
from topology import B, FAMILIES, FAR, HOPS, R1, chain, direct, limit, multipath, routed, switched

METHODS = ("auto", "tcp", "udp", "responder")


def masquerade(space, device="far"):
    for f, name in (("ip", "nat4"), ("ip6", "nat6")):
        space.nft(f"table {f} {name} {{\n\tchain out {{\n"
                  "\t\ttype nat hook postrouting priority 100;\n"
                  f'\t\toifname "{device}" masquerade\n\t}}\n}}\n')


@case("behind a translator", "each method measures through masquerading, and what is behind it",
      *(f"{family} {method}" for family in FAMILIES for method in METHODS))
def translated(network, variant):
    family, method = variant.split()
    a, r1, b = routed(network, 9000)
    masquerade(r1)
    if method == "responder":
        responder(network, b)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": method}}))
    consistent(daemon, "b", 9000, ReturnMTU={"auto": 9000, "responder": 9000}.get(method, 0))
    b.drop_above(4321, "eth0")
    black_hole(daemon, "b", 4321, deadline=120)
    one_alert(daemon, "b", "black-hole")
    never(daemon, "b", "unreachable", "reduced", "partial")


@case("hole under loss", "15 % of all packets get lost, and beside that there is a hole",
      *(f"{family} {method}" for family in FAMILIES for method in ("auto", "tcp", "responder")))
def hole_under_loss(network, variant):
    family, method = variant.split()
    a, b, s1 = switched(network)
    if method == "responder":
        responder(network, b)
    a.filter("loss", ["numgen random mod 100 < 15 drop"])
    limit(s1, 8951)
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": method}}))
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=8951, Confirmed=True, deadline=120)
    daemon.rounds("b", 3, Verdict="black-hole", PathMTU=8951, deadline=120)
    never(daemon, "b", "consistent", "reduced", "partial", "lossy", "unreachable")


@case("echoes unwelcome under loss", "large echoes are dropped and others get lost: no hole",
      *FAMILIES)
def unwelcome_under_loss(network, family):
    a, _, b = routed(network, 9000)
    no_large_echo(b, 1400)
    b.filter("loss", ["numgen random mod 100 < 15 drop"], hook="output")
    names = [f"b{i}" for i in range(8)]
    daemon = start(network, a, config({name: {"Address": FAR[family]} for name in names}))
    daemon.rounds_of(names, 6, deadline=150)
    for name in names:
        consistent(daemon, name, 9000)
        never(daemon, name, "black-hole", "reduced", "partial", "lossy")
    silent(daemon)


@case("limited reports, no echo", "a router at one report a second, one round, and no echo",
      *(f"{family} {fail_after}" for family in FAMILIES for fail_after in (1, 2)))
def limited_without_echo(network, variant):
    family, fail_after = variant.split()
    a, r1, b = routed(network, 9000, 1500)
    no_echo(b)
    r1.filter("limited", ["icmp type destination-unreachable icmp code frag-needed "
                          "limit rate over 1/second burst 1 packets drop",
                          "icmpv6 type packet-too-big limit rate over 1/second burst 1 packets drop"],
              hook="output", priority=0)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, FailAfter=fail_after))
    reduced(daemon, "b", 1500, R1[family])
    daemon.rounds("b", 4, Verdict="reduced", PathMTU=1500, Router=R1[family])
    silent(daemon)
    never(daemon, "b", "black-hole", "partial", "consistent", "unreachable")


@case("mirrored sizes", "both ends, each way by another size, over a router",
      *(f"{family} {there} {back}" for family in FAMILIES for there, back in ((4321, 0), (0, 1281),
                                                                              (8999, 1600))))
def mirrored(network, variant):
    family, there, back = variant.split()
    there, back = int(there), int(back)
    a, r1, b = routed(network, 9000)
    if there:
        r1.filter("there", [f'iifname "near" meta length > {there} drop'], hook="forward")
    if back:
        r1.filter("back", [f'iifname "far" meta length > {back} drop'], hook="forward")
    near = {"ipv4": "192.0.2.1", "ipv6": "2001:db8:1::1"}[family]
    daemons = [start(network, space, config({"other": {"Address": to}}, Responder="yes"))
               for space, to in ((a, FAR[family]), (b, near))]
    for daemon, way, other in ((daemons[0], there, back), (daemons[1], back, there)):
        # no answer is larger than what arrived: behind a smaller way there the other is not seen
        seen = other and (not way or other < way)
        direction = "both" if way and seen else "forward" if way else "return"
        state = daemon.wait_peer("other", Verdict="black-hole", PathMTU=way or 9000,
                                 Direction=direction, Confirmed=True)
        equal("ReturnMTU", state["ReturnMTU"], other if seen else 0)
        daemon.rounds("other", 2, Verdict="black-hole", PathMTU=way or 9000, Direction=direction)
        never(daemon, "other", "consistent", "reduced", "partial")


@case("silent hops", "a router that tells of no expiry is passed over in the search for the place",
      *FAMILIES)
def silent_hops(network, family):
    a, routers, b = chain(network)
    routers[1].filter("mute", ["icmp type time-exceeded drop", "icmpv6 type time-exceeded drop"],
                      hook="output", priority=0)
    b.drop_above(2222, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    black_hole(daemon, "b", 2222, Locus=f"after {HOPS[family][2][1]}")
    one_alert(daemon, "b", "black-hole")


@case("legs of two sizes", "each leg has a limit of its own, and one says so", *FAMILIES)
def legs_of_two_sizes(network, family):
    a, _, r2, _ = multipath(network, family)
    r2.drop_above(8951, "leg1")
    r2.drop_above(3333, "leg2", table="above2")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Flows": 12}}))
    black_hole(daemon, "b", 3333, Flows=12, FlowsFaulty=12)
    r2.unfilter("above2")
    state = daemon.wait_peer("b", Verdict="partial", PathMTU=8951)
    assert 0 < state["FlowsFaulty"] < 12, state["FlowsFaulty"]
    daemon.rounds("b", 3, Verdict="partial", PathMTU=8951, FlowsFaulty=state["FlowsFaulty"])
    r2.unfilter("above")
    consistent(daemon, "b", 9000)
    never(daemon, "b", "reduced", "lossy", "unreachable")


@case("once methods", "--once by each method, with the exit code that a script goes by",
      *(f"{family} {method}" for family in FAMILIES for method in ("tcp", "udp", "responder")))
def once_methods(network, variant):
    family, method = variant.split()
    a, b = direct(network, 9000)
    if method == "responder":
        responder(network, b)
    daemon = start(network, a, config())
    words = ("--once", "--method", method, "--flows", "2", B[family])
    status, out, err = daemon.once(*words, timeout=120)
    assert status == 0 and "9000/9000 consistent" in " ".join(out.split()), (status, out, err)
    b.drop_above(8951, "eth0")
    status, out, err = daemon.once(*words, timeout=240)
    assert status == 2 and "8951/9000 black-hole" in " ".join(out.split()), (status, out, err)
