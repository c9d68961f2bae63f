# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several flows over one path, several paths to one peer, and loss that depends on the size."""

from cases import (black_hole, case, consistent, equal, never, one_alert, recovered, silent, start)
from daemon import config
from topology import B, FAMILIES, FAR, MULTI, direct, multipath, routed, two_links
from wire import TCP, Sniffer


def bad_leg(network, family):
    """Half of the flows go where no more than 1500 gets through."""
    a, _, r2, _ = multipath(network, family)
    r2.drop_above(1500, "leg2")
    return a, r2


@case("partial", "one of two legs is bad: some flows, and always the same ones", *FAMILIES)
def partial(network, family):
    a, r2 = bad_leg(network, family)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "ExpectMTU": 9000,
                                             "Method": "tcp", "Flows": 16}}))
    state = daemon.wait_peer("b", Verdict="partial", Severity="critical", PathMTU=1500)
    faulty = state["FlowsFaulty"]
    assert 0 < faulty < 16 and state["Flows"] == 16, (faulty, state["Flows"])
    equal("Direction, Confirmed", (state["Direction"], state["Confirmed"]), ("forward", True))
    daemon.rounds("b", 6, Verdict="partial", PathMTU=1500, FlowsFaulty=faulty, Flows=16)
    one_alert(daemon, "b", "partial")
    equal("changes", daemon.verdicts("b"), [])
    equal("source ports", len({p.from_port for p in sniffer.probes(FAR[family], TCP)}), 16)
    r2.unfilter("above")
    consistent(daemon, "b", 9000, FlowsFaulty=0)
    recovered(daemon, "b")


@case("one flow", "one flow goes one way, and stays with it", *FAMILIES)
def one_flow(network, family):
    a, _ = bad_leg(network, family)
    # each peer is one flow: good or bad by luck, but never both
    names = [f"b{i}" for i in range(6)]
    daemon = start(network, a, config({name: {"Address": FAR[family], "Method": "tcp"}
                                       for name in names}))
    found = {}
    for name in names:
        state = daemon.wait_peer(name, Verdict=lambda v: v in ("consistent", "black-hole"))
        found[name] = state["Verdict"], state["PathMTU"]
        assert found[name] in (("consistent", 9000), ("black-hole", 1500)), found[name]
    daemon.rounds_of(names, 4, deadline=90)
    for name in names:
        state = daemon.peer(name)
        equal(name, (state["Verdict"], state["PathMTU"]), found[name])
        equal("changes", daemon.verdicts(name), [])


@case("all flows", "every flow is bad: a black hole, not a part", *FAMILIES)
def all_flows(network, family):
    a, _, r2, _ = multipath(network, family)
    r2.drop_above(1500, "leg1")
    r2.drop_above(2500, "leg2", table="above2")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "tcp", "Flows": 16}}))
    # the smallest flow's number; of so many random ports some take each leg
    black_hole(daemon, "b", 1500, FlowsFaulty=16)
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1500)
    one_alert(daemon, "b", "black-hole")
    never(daemon, "b", "partial")


def by_interface(state):
    return {p["Interface"]: (p["Verdict"], p["PathMTU"]) for p in state["Paths"]}


@case("two links", "Interface= given twice: a path each, the worst is the peer's", *FAMILIES)
def both_links(network, family):
    a, b = two_links(network, family)
    daemon = start(network, a, config(
        {"san": {"Address": MULTI[family], "Interface": ["eth0", "eth1"]}}))
    daemon.wait_peer("san", Verdict="consistent", Paths=lambda p: len(p) == 2 and
                     all(x["Verdict"] == "consistent" for x in p))
    silent(daemon)
    b.drop_above(1500, "eth1")
    state = black_hole(daemon, "san", 1500, Interface="eth1")
    equal("paths", by_interface(state), {"eth0": ("consistent", 9000), "eth1": ("black-hole", 1500)})
    state = daemon.rounds("san", 4, Verdict="black-hole")
    equal("paths", by_interface(state), {"eth0": ("consistent", 9000), "eth1": ("black-hole", 1500)})
    one_alert(daemon, "san", "black-hole")
    b.unfilter("above")
    daemon.wait_peer("san", Verdict="consistent", PathMTU=9000)


@case("two links down", "one of two links without carrier", *FAMILIES)
def one_link_down(network, family):
    a, b = two_links(network, family)
    daemon = start(network, a, config(
        {"san": {"Address": MULTI[family], "Interface": ["eth0", "eth1"]}}))
    daemon.wait_peer("san", Verdict="consistent", Paths=lambda p: len(p) == 2)
    b.down("eth1")
    state = daemon.wait_peer("san", Verdict="unreachable")
    paths = {(p["Interface"] or "eth1"): p["Verdict"] for p in state["Paths"]}
    equal("paths", paths, {"eth0": "consistent", "eth1": "unreachable"})
    never(daemon, "san", "black-hole", "reduced", "misconfigured")


@case("both families", "one family is broken", *FAMILIES)
def broken_family(network, family):
    a, b = direct(network, 9000)
    network.hosts_file(a, [f"{B[f]} storage.example" for f in FAMILIES])
    protocol = {"ipv4": "ip", "ipv6": "ip6"}[family]
    daemon = start(network, a, config({"two": {"Address": "storage.example", "Family": "both"}}))
    daemon.wait_peer("two", Verdict="consistent", Paths=lambda p: len(p) == 2 and
                     all(x["PathMTU"] == 9000 for x in p))
    b.filter("above", [f"meta protocol {protocol} meta length > 1500 drop"])
    state = black_hole(daemon, "two", 1500, Address=B[family])
    other = B["ipv6" if family == "ipv4" else "ipv4"]
    equal("paths", {p["Address"]: (p["Verdict"], p["PathMTU"]) for p in state["Paths"]},
          {B[family]: ("black-hole", 1500), other: ("consistent", 9000)})
    one_alert(daemon, "two", "black-hole")


@case("lossy", "large packets are lost more often than small ones", *FAMILIES)
def lossy(network, family):
    a, _, b = routed(network, 9000)
    b.filter("loss", ["meta length > 4000 numgen random mod 100 < 25 drop"], priority=-310)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="1s"))
    state = daemon.wait_peer("b", Verdict="lossy", deadline=90)
    assert state["Rounds"] <= 60, state["Rounds"]
    equal("severity, MTU", (state["Severity"], state["PathMTU"]), ("warning", 9000))
    daemon.rounds("b", 5, Verdict="lossy", PathMTU=9000)
    one_alert(daemon, "b", "lossy")
    never(daemon, "b", "black-hole", "reduced", "partial", "unreachable")
    b.unfilter("loss")
    consistent(daemon, "b", 9000, deadline=60)


@case("plainly lossy", "25 % loss of every size is no matter of size", *FAMILIES)
def plainly_lossy(network, family):
    a, _, b = routed(network, 9000)
    b.filter("loss", ["numgen random mod 100 < 25 drop"], priority=-310)
    names = [f"b{i}" for i in range(6)]
    daemon = start(network, a, config({name: {"Address": FAR[family]} for name in names},
                                      Interval="1s"))
    daemon.rounds_of(names, 30, deadline=150,
                     Verdict=lambda v: v not in ("lossy", "black-hole", "reduced", "partial"))
    for name in names:
        never(daemon, name, "lossy", "black-hole", "reduced", "partial", "misconfigured")
