# SPDX-License-Identifier: LGPL-2.1-or-later
"""A capture proves it: what the daemon says that it sends is what is on the wire."""

from cases import black_hole, case, consistent, equal, responder, start
from daemon import config
from topology import B, FAMILIES, limit, switched
from wire import SYN, ACK, TCP, UDP, Sniffer

METHODS = ("icmp", "tcp", "udp", "responder")


def honest_wire(daemon, sniffer, family, largest, small):
    """Whole packets with DF, none larger than the link, as many as the counters say."""
    def counted():
        seen = len(sniffer.probes(B[family]))
        state = daemon.peer("b")
        return state["ProbesSent"] == seen and state
    state = daemon.wait("as many packets as the counter says", counted)
    probes = sniffer.probes(B[family])
    equal("frames that the sniffer missed", sniffer.dropped(), 0)
    assert all(p.df and not p.fragment for p in probes), "a probe without DF or in pieces"
    equal("largest probe", max(p.size for p in probes), largest)
    assert min(p.size for p in probes) <= small, min(p.size for p in probes)
    # also what is no probe: the ends of half-open connections
    ours = [p for p in list(sniffer.packets) if p.outgoing and p.to == B[family]]
    assert max(p.size for p in ours) <= largest
    return state, probes


@case("wire methods", "DF, sizes and counters, by each method",
      *(f"{family} {method}" for family in FAMILIES for method in METHODS))
def wire_methods(network, variant):
    family, method = variant.split()
    size = 1500 if method == "udp" else 9000  # a search at one a second: keep it short
    a, b, s1 = switched(network, size)
    if method == "responder":
        responder(network, b)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": method}},
                                      FailAfter=1 if method == "udp" else 2))
    small = 68 if family == "ipv4" else 104
    consistent(daemon, "b", size)
    daemon.rounds("b", 2, Verdict="consistent")
    state, probes = honest_wire(daemon, sniffer, family, size, small)
    # two a round, those of a round under way, and what a cookie is asked with
    assert len(probes) <= 2 * state["Rounds"] + 6, (len(probes), state["Rounds"])
    equal("lost", state["ProbesLost"], 0)
    if method == "udp":
        return
    limit(s1, 1443)
    if method == "icmp":
        daemon.wait_peer("b", Verdict="black-hole", PathMTU=1443)
    else:
        black_hole(daemon, "b", 1443)
    state, probes = honest_wire(daemon, sniffer, family, size, small)
    kinds = {(p.protocol, (p.flags or 0) & (SYN | ACK)) for p in probes}
    equal("kinds of probes", len(kinds), 1)
    equal("protocol", next(iter(kinds))[0], {"icmp": "icmp", "tcp": TCP}.get(method, UDP))
    assert state["ProbesLost"] > 0


@case("wire auto", "every kind in one search, and the counters still right", *FAMILIES)
def wire_auto(network, family):
    a, _, s1 = switched(network)
    limit(s1, 1443)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family]}}, Interval="10min"))
    black_hole(daemon, "b", 1443)
    state, probes = honest_wire(daemon, sniffer, family, 9000, 68 if family == "ipv4" else 104)
    assert len(probes) <= 90 * state["Rounds"], (len(probes), state["Rounds"])


def busiest_second(packets):
    """The most bytes that any one second saw."""
    packets = sorted(packets, key=lambda p: p.time)
    most = total = first = 0
    for packet in packets:
        total += packet.size
        while packets[first].time < packet.time - 1.0:
            total -= packets[first].size
            first += 1
        most = max(most, total)
    return most


@case("wire budget", "many searches at once stay within ProbeBandwidth",
      *(f"{family} {method}" for family in FAMILIES for method in ("auto", "tcp")))
def wire_budget(network, variant):
    family, method = variant.split()
    a, _, s1 = switched(network)
    limit(s1, 1443)
    sniffer = Sniffer(network, a, "eth0")
    bits = 2_000_000
    names = [f"b{i}" for i in range(6)]
    daemon = start(network, a, config({name: {"Address": B[family], "Method": method}
                                       for name in names}, ProbeBandwidth="2M", Interval="10s"))
    for name in names:
        black_hole(daemon, name, 1443, deadline=90)
    probes = sniffer.probes(B[family])
    # a burst is sent together and may straddle the second's end; what was late catches up
    most, allowed = busiest_second(probes), bits // 8 + 10 * 9000
    assert most <= allowed, f"{most} bytes in a second, {allowed} allowed"
    spent = probes[-1].time - probes[0].time
    total = sum(p.size for p in probes)
    assert total * 8 <= bits * (spent + 1.0), f"{total} bytes in {spent:.1f} s"
