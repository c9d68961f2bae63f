# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kinds of peers: host names, link-local ones, the host itself, several addresses."""

from cases import black_hole, case, consistent, equal, never, one_alert, silent, start
from daemon import config
from topology import A, B, FAMILIES, direct, limit, switched


@case("name", "a host name", *FAMILIES)
def host_name(network, family):
    a, _, s1 = switched(network)
    network.hosts_file(a, [f"{B[family]} storage.example"])
    daemon = start(network, a, config({"b": {"Address": "storage.example"}}))
    state = consistent(daemon, "b", 9000)
    equal("Address", state["Address"], B[family])
    limit(s1, 1500)
    black_hole(daemon, "b", 1500)


@case("name late", "a host name that resolves late")
def host_name_late(network):
    a, _ = direct(network, 9000)
    network.hosts_file(a, [])
    daemon = start(network, a, config({"b": {"Address": "storage.example"},
                                       "other": {"Address": B["ipv4"]}}, Interval="1s"))
    consistent(daemon, "other", 9000)
    state = daemon.wait_peer("b", Verdict=lambda v: v in ("unreachable", "unknown"))
    daemon.rounds("other", 3, Verdict="consistent")
    state = daemon.wait_peer("b", Verdict="unreachable", Reason=lambda text: text != "")
    assert "resolve" in state["Reason"] or "name" in state["Reason"], state["Reason"]
    network.hosts_file(a, [f"{B['ipv4']} storage.example"])
    state = consistent(daemon, "b", 9000, deadline=90)
    equal("Address", state["Address"], B["ipv4"])
    never(daemon, "b", "black-hole", "reduced")


@case("name families", "Family= chooses among a name's addresses")
def host_name_families(network):
    a, _ = direct(network, 9000)
    network.hosts_file(a, [f"{B[f]} storage.example" for f in FAMILIES])
    daemon = start(network, a, config({
        "four": {"Address": "storage.example", "Family": "ipv4"},
        "six": {"Address": "storage.example", "Family": "ipv6"}}))
    equal("four", consistent(daemon, "four", 9000)["Address"], B["ipv4"])
    equal("six", consistent(daemon, "six", 9000)["Address"], B["ipv6"])


@case("worst family", "the worst path is the peer's")
def worst_family(network):
    a, b = direct(network, 9000)
    network.hosts_file(a, [f"{B[f]} storage.example" for f in FAMILIES])
    b.filter("above", ['iifname "eth0" meta protocol ip6 meta length > 1500 drop'])
    daemon = start(network, a, config({"two": {"Address": "storage.example", "Family": "both"}}),
                   may_lack="Family=both")
    state = black_hole(daemon, "two", 1500)
    equal("Address", state["Address"], B["ipv6"])
    state = daemon.rounds("two", 2, Verdict="black-hole")
    equal("paths", {p["Address"]: (p["Verdict"], p["PathMTU"]) for p in state["Paths"]},
          {B["ipv4"]: ("consistent", 9000), B["ipv6"]: ("black-hole", 1500)})
    one_alert(daemon, "two", "black-hole")


@case("link-local", "a link-local peer with its zone")
def link_local(network):
    a, b, s1 = switched(network)
    a.ip("address add fe80::a/64 dev eth0 nodad")
    b.ip("address add fe80::b/64 dev eth0 nodad")
    daemon = start(network, a, config({"b": {"Address": "fe80::b%eth0"}}))
    state = consistent(daemon, "b", 9000)
    equal("Address", state["Address"], "fe80::b%eth0")
    equal("Interface", state["Interface"], "eth0")
    limit(s1, 1500)
    black_hole(daemon, "b", 1500)


@case("own address", "an address of this host itself is no peer", *FAMILIES)
def own_address(network, family):
    a, _ = direct(network, 65535)
    daemon = start(network, a, config({"me": {"Address": A[family]},
                                       "b": {"Address": B[family]}}))
    consistent(daemon, "b", 65535)
    state = daemon.wait_peer("me", Verdict="misconfigured", Severity="warning",
                             Reason=lambda text: text != "")
    assert "own" in state["Reason"], state["Reason"]
    equal("PathMTU", state["PathMTU"], 0)
    daemon.rounds("b", 3, Verdict="consistent")
    one_alert(daemon, "me")
    never(daemon, "me", "consistent", "black-hole")


@case("source", "Source= is what the probes come from", *FAMILIES)
def source(network, family):
    a, b = direct(network, 9000)
    second = {"ipv4": "192.0.2.11", "ipv6": "2001:db8:1::11"}[family]
    a.address("eth0", f"{second}/{24 if family == 'ipv4' else 64}")
    # only the second address may talk to B
    protocol, echo = ("ip", "icmp") if family == "ipv4" else ("ip6", "icmpv6")
    b.filter("only", [f"{kind} {protocol} saddr != {second} drop" for kind in (
        f"{echo} type echo-request", "meta l4proto { tcp, udp }")])
    daemon = start(network, a, config({"b": {"Address": B[family], "Source": second},
                                       "plain": {"Address": B[family], "Source": A[family]}}))
    state = consistent(daemon, "b", 9000)
    equal("Source", state["Source"], second)
    daemon.wait_peer("plain", Verdict="unreachable")
    silent(daemon, "b")
