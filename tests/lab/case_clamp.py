# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clamps: what is treated, to what size, what is left alone, and that everything comes off again."""

import contextlib
import json
import os
import socket
import threading
import time

from cases import (black_hole, case, consistent, equal, findings, holds, never, no_large_echo,
                   only_echo, responder, start, suspected_hole)
from daemon import DEADLINE, BusError, config
from lab import run
from topology import A, B, FAMILIES, FAR, R1, direct, limit, net, routed, switched
import wire

PROTOCOL = "77"
CLAMPED = "db68b1e4c42d4092b0174aad0e0d704e"
RELEASED = "904911832db14f59a07e931c56bf80a5"
YIELDED = "93c6cf74a8854825a3e471a3d445e421"


def routes(space, family="ipv4", table="all"):
    """Every route of the family, as the kernel tells of them."""
    flag = "-6" if family == "ipv6" else "-4"
    return json.loads(run(["ip", "-n", space.name, "-j", "-N", flag, "route", "show", "table",
                           table]) or "[]")


def clamps(space):
    """Our routes: destination, size."""
    found = {}
    for family in FAMILIES:
        for route in routes(space, family):
            if route.get("protocol") == PROTOCOL:
                found[route["dst"]] = route["metrics"][0]["mtu"]
    return found


def state(space):
    """Everything that a clamp could change and that has to be as before afterwards."""
    links = json.loads(run(["ip", "-n", space.name, "-j", "address"]))
    kept = [(one["ifname"], one["mtu"],
             sorted((a["local"], a["prefixlen"]) for a in one["addr_info"])) for one in links]
    tables = []
    for family in FAMILIES:
        tables += [json.dumps({k: v for k, v in r.items() if k not in ("expires",)}, sort_keys=True)
                   for r in routes(space, family)]
    return sorted(kept), sorted(tables)


def wait_clamps(daemon, space, wanted, deadline=DEADLINE):
    daemon.wait(f"clamps {wanted}", lambda: clamps(space) == wanted, deadline)


def release(daemon, name=""):
    return daemon.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", "Release", "s", name)


def refused(daemon, name):
    """The records that say why there is no clamp."""
    return [r for r in daemon.told(name) if "not clamped" in r.get("MESSAGE", "")]


@case("M01clamp", "a clamp by route: put on, shown, and off when the full size passes", *FAMILIES)
def m01(lab, family):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    daemon = start(lab, a, config({"san": {"Address": B[family], "ExpectMTU": 9000,
                                           "Clamp": "route"}}))
    black_hole(daemon, "san", 1500)
    wait_clamps(daemon, a, {B[family]: 1500})
    daemon.wait_peer("san", ClampMTU=1500, ClampKind="route", KernelMTU=1500, PathMTU=1500,
                     Verdict="black-hole", ExpectedMTU=9000)
    equal("Clamped", daemon.manager()["Clamped"], 1)
    record, = daemon.told("san", MESSAGE_ID=CLAMPED)
    equal("MTUWATCH_CLAMP_MTU", record["MTUWATCH_CLAMP_MTU"], "1500")
    # our own lock is no finding, and no news of the path
    now = daemon.rounds("san", 3, Verdict="black-hole", ClampMTU=1500)
    equal("findings", findings(now, "route-mtu-below-link", "cached-pmtu-stale"), [])
    never(daemon, "san", "reduced", "misconfigured")
    s1.mtu("trunk", 9000)
    consistent(daemon, "san", 9000)
    wait_clamps(daemon, a, {})
    daemon.wait_peer("san", ClampMTU=0, ClampKind="", KernelMTU=9000)
    equal("released", len(daemon.told("san", MESSAGE_ID=RELEASED)), 1)
    equal("what was there before", state(a), before)


class Transfer:
    """One TCP connection that sends as fast as it can; counts what arrives and when."""

    def __init__(self, lab, sender, receiver, address, port=5001):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with receiver.entered():
            self.listener = socket.create_server((address, port), family=family)
        with sender.entered():
            self.out = socket.create_connection((address, port), timeout=10)
        self.into, _ = self.listener.accept()
        self.out.settimeout(None)
        self.arrived, self.longest, self.last, self.over = 0, 0.0, time.monotonic(), False
        for work in (self._send, self._receive):
            threading.Thread(target=work, daemon=True).start()
        lab.stack.callback(self.close)

    def _send(self):
        block = bytes(65536)
        with contextlib.suppress(OSError):
            while not self.over:
                self.out.send(block)
                time.sleep(0.002)  # the machine is shared

    def _receive(self):
        with contextlib.suppress(OSError):
            while not self.over:
                got = len(self.into.recv(65536))
                if not got:
                    return
                now = time.monotonic()
                self.longest = max(self.longest, now - self.last)
                self.arrived, self.last = self.arrived + got, now

    def close(self):
        self.over = True
        for one in (self.out, self.into, self.listener):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def segment(self):
        return self.out.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)

    def flows(self):
        """Whether something arrives now."""
        before = self.arrived
        time.sleep(0.05)
        return self.arrived > before


@case("clamp-live", "a live transfer stalls in the hole and flows again; one to a healthy peer goes on",
      *FAMILIES)
def live(lab, family):
    a, b, s1 = switched(lab)
    c = lab.space("C")
    lab.link(s1, "pc", c, "eth0", 9000)
    healthy = {"ipv4": "192.0.2.3", "ipv6": "2001:db8:1::3"}[family]
    c.address("eth0", f"{healthy}/{24 if family == 'ipv4' else 64}")
    daemon = start(lab, a, config({
        "san": {"Address": B[family], "ExpectMTU": 9000},
        "well": {"Address": healthy, "ExpectMTU": 9000}}, Clamp="route"))
    consistent(daemon, "san", 9000)
    consistent(daemon, "well", 9000)
    sick, well = Transfer(lab, a, b, B[family]), Transfer(lab, a, c, healthy)
    daemon.wait("both flow", lambda: sick.flows() and well.flows())
    full = well.segment()
    limit(s1, 1500)
    began, well.longest = time.monotonic(), 0.0
    daemon.wait("the stall", lambda: time.monotonic() - sick.last > 1.0 or None)
    wait_clamps(daemon, a, {B[family]: 1500})
    clamped = time.monotonic() - began
    daemon.wait("the transfer flows again", sick.flows)
    healed = time.monotonic() - began
    print(f"time to clamp {clamped:.1f} s, to heal {healed:.1f} s; "
          f"the healthy transfer paused {well.longest:.2f} s at most")
    assert sick.segment() < 1500, sick.segment()
    equal("the healthy one's segments", well.segment(), full)
    assert well.flows() and well.longest < 5, well.longest
    holds(daemon.peer("well"), ClampMTU=0, Verdict="consistent")
    # and back, without a pause that matters
    s1.mtu("trunk", 9000)
    wait_clamps(daemon, a, {})
    daemon.wait("large segments again", lambda: sick.segment() == full and sick.flows())


@case("M03clamp", "a silent router: its own route for what is behind it, nothing for the router",
      *FAMILIES)
def m03(lab, family):
    a, r1, _ = routed(lab, 9001)
    r1.filter("above", ["meta length > 8500 drop"], hook="forward", priority=0)
    daemon = start(lab, a, config({
        "nfs": {"Address": FAR[family], "ExpectMTU": 9001},
        "gw": {"Address": R1[family], "ExpectMTU": 9001}}, Clamp="route"))
    black_hole(daemon, "nfs", 8500)
    wait_clamps(daemon, a, {FAR[family]: 8500})
    consistent(daemon, "gw", 9001, ClampMTU=0)
    ours, = [r for r in routes(a, family) if r.get("protocol") == PROTOCOL]
    equal("its gateway", ours["gateway"], R1[family])
    equal("its lock", ours["metrics"][0], {"mtu": 8500, "lock": True}
          if "lock" in ours["metrics"][0] else {"mtu": 8500})


@case("M11clamp", "a tunnel whose fragments are dropped: the inner path alone")
def m11(lab):
    a, r1, b = routed(lab, 1500)
    for space, mine, other, inner in ((a, A, FAR, 1), (b, FAR, A, 2)):
        space.ip(f"link add vx0 mtu 1500 type vxlan id 7 dstport 4789 local {mine['ipv4']} "
                 f"remote {other['ipv4']} nolearning")
        space.address("vx0", f"203.0.113.{inner}/24")
        space.up("vx0")
    r1.filter("fragments", ["ip frag-off & 0x1fff != 0 drop"], priority=-450)
    before = state(a)
    daemon = start(lab, a, config({"pod-b": {"Address": "203.0.113.2", "Interface": "vx0"},
                                   "host-b": {"Address": FAR["ipv4"]}}, Clamp="route"))
    # where the tunnel has told its own kernel, that copes by itself
    told = daemon.wait_peer("pod-b", PathMTU=1450)["Verdict"] == "reduced"
    wait_clamps(daemon, a, {} if told else {"203.0.113.2": 1450})
    consistent(daemon, "host-b", 1500, ClampMTU=0)
    daemon.rounds("pod-b", 4, PathMTU=1450, Verdict="reduced" if told else "black-hole")
    equal("clamps", clamps(a), {} if told else {"203.0.113.2": 1450})
    equal("the links", state(a)[0], before[0])


@case("M13clamp", "a report that promises too much: clamped to what passes", *FAMILIES)
def m13(lab, family):
    a, _, b = routed(lab, 9000, 1500, 1500)
    b.drop_above(1400, "eth0")
    daemon = start(lab, a, config({
        "far": {"Address": FAR[family], "ExpectMTU": 9000},
        "gw": {"Address": R1[family]}}, Clamp="route"))
    black_hole(daemon, "far", 1400)
    wait_clamps(daemon, a, {FAR[family]: 1400})
    consistent(daemon, "gw", 9000, ClampMTU=0)


@case("M17clamp", "the way back is bad: what we announce gets smaller", *FAMILIES)
def m17(lab, family):
    a, b, s1 = switched(lab)
    responder(lab, b)
    s1.drop_above(1500, "trunk", family="bridge")
    daemon = start(lab, a, config({"filer": {"Address": B[family], "ExpectMTU": 9000,
                                             "Method": "responder"}}, Clamp="route"))
    daemon.wait_peer("filer", Verdict="black-hole", Direction="return", PathMTU=9000,
                     ReturnMTU=1500, Confirmed=True)
    wait_clamps(daemon, a, {B[family]: 1500})
    # what the peer sends on a new connection is smaller now
    with a.entered():
        listener = socket.create_server((A[family], 5002), family=socket.AF_INET6
                                        if family == "ipv6" else socket.AF_INET)
    with b.entered():
        out = socket.create_connection((A[family], 5002), timeout=10)
    with listener, out:
        assert out.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG) < 1500
    daemon.rounds("filer", 3, Verdict="black-hole", Direction="return", ClampMTU=1500)
    s1.unfilter("above", "bridge")
    consistent(daemon, "filer", 9000)
    wait_clamps(daemon, a, {})


@case("M31clamp", "a switch lowered and restored under it, and a daemon that is killed in between")
def m31(lab):
    a, _, s1 = switched(lab)
    before = state(a)
    daemon = start(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000,
                                           "Clamp": "route"}}))
    consistent(daemon, "san", 9000)
    limit(s1, 1500)
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    # killed without a word: the kernel keeps it, the next life knows it
    daemon.process.kill()
    daemon.process.wait()
    equal("while nobody is there", clamps(a), {B["ipv4"]: 1500})
    daemon.start()
    daemon.wait_peer("san", Verdict="black-hole", ClampMTU=1500, ClampKind="route")
    daemon.rounds("san", 4, ClampMTU=1500)
    daemon.process.kill()
    daemon.process.wait()
    # whole again while nobody looks
    s1.mtu("trunk", 9000)
    daemon.start()
    wait_clamps(daemon, a, {})
    consistent(daemon, "san", 9000)
    equal("what was there before", state(a), before)
    # and stopped in between
    limit(s1, 1500)
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    equal("its end", daemon.stop(), 0)
    equal("after a stop", clamps(a), {B["ipv4"]: 1500})
    status, said, _ = daemon.once("--release")
    equal("--release", status, 0)
    assert B["ipv4"] in said, said
    equal("what was there before", state(a), before)


@case("M41clamp", "unreachable never clamps, and leaves a clamp alone")
def m41(lab):
    a, r1, b = routed(lab, 9000)
    daemon = start(lab, a, config({"far": {"Address": FAR["ipv4"]},
                                   "dead": {"Address": "192.0.2.77"}}, Clamp="route", ClampAfter=1))
    consistent(daemon, "far", 9000)
    daemon.wait_peer("dead", Verdict="unreachable")
    r1.filter("above", ["meta length > 1500 drop"], hook="forward", priority=0)
    wait_clamps(daemon, a, {FAR["ipv4"]: 1500})
    b.down("eth0")
    daemon.wait_peer("far", Verdict="unreachable")
    daemon.rounds("far", 3, ClampMTU=1500)
    daemon.rounds("dead", 1, ClampMTU=0)
    r1.unfilter("above")
    b.up("eth0")
    b.route("add default via 198.51.100.254")
    consistent(daemon, "far", 9000)
    wait_clamps(daemon, a, {})
    equal("clamps of the dead one", daemon.told("dead", MESSAGE_ID=CLAMPED), [])


@case("M43clamp", "what only large echoes say is not treated, and that is said once", *FAMILIES)
def m43(lab, family):
    a, _, b = routed(lab, 9000)
    no_large_echo(b, 1400)
    only_echo(b)
    daemon = start(lab, a, config({"far": {"Address": FAR[family], "ExpectMTU": 9000}},
                                  Clamp="route", ClampAfter=1))
    suspected_hole(daemon, "far", 1400)
    daemon.wait("a refusal", lambda: refused(daemon, "far"))
    daemon.rounds("far", 5, ClampMTU=0)
    equal("refusals", len(refused(daemon, "far")), 1)
    assert "ping" in daemon.peer("far")["ClampRefusal"], daemon.peer("far")["ClampRefusal"]
    equal("clamps", clamps(a), {})


@case("M14clamp", "a router that tells is not treated", *FAMILIES)
def m14(lab, family):
    a, _, _ = routed(lab, 9001, 8500, 8500)
    daemon = start(lab, a, config({"far": {"Address": FAR[family], "ExpectMTU": 9001}},
                                  Clamp="route", ClampAfter=1))
    daemon.wait_peer("far", Verdict="reduced", PathMTU=8500)
    daemon.rounds("far", 5, ClampMTU=0, Verdict="reduced")
    equal("clamps", clamps(a), {})


@case("clamp-floor", "never below the floor, nor below what IPv6 needs", *FAMILIES)
def floor(lab, family):
    a, _, s1 = switched(lab)
    limit(s1, 1279)
    daemon = start(lab, a, config({"san": {"Address": B[family], "ExpectMTU": 9000}},
                                  Clamp="route", ClampAfter=1,
                                  ClampFloor=1280 if family == "ipv4" else 68))
    black_hole(daemon, "san", 1279)
    daemon.wait("a refusal", lambda: refused(daemon, "san"))
    daemon.rounds("san", 3, ClampMTU=0)
    equal("refusals", len(refused(daemon, "san")), 1)
    equal("clamps", clamps(a), {})
    wanted = "ClampFloor" if family == "ipv4" else "1280"
    assert wanted in daemon.peer("san")["ClampRefusal"]


@case("clamp-release", "Release takes it off and it stays off until the fault has gone once")
def release_case(lab):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    daemon = start(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                  Clamp="route", ClampAfter=1))
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    try:
        release(daemon, "nobody")
        assert False, "nobody was released"
    except BusError as error:
        assert "nobody" in str(error), error
    release(daemon, "san")
    equal("after Release", state(a), before)
    daemon.rounds("san", 4, ClampMTU=0, Verdict="black-hole")
    s1.mtu("trunk", 9000)
    consistent(daemon, "san", 9000)
    limit(s1, 1500)
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    release(daemon, "eth0")
    equal("after Release by link", clamps(a), {})
    # somebody takes it off by hand: the same, with another word
    s1.mtu("trunk", 9000)
    consistent(daemon, "san", 9000)
    limit(s1, 1500)
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    a.ip(f"route flush proto {PROTOCOL}")
    daemon.wait("the yielding", lambda: daemon.told("san", MESSAGE_ID=YIELDED))
    daemon.rounds("san", 4, ClampMTU=0, Verdict="black-hole")
    equal("clamps", clamps(a), {})
    equal("yieldings", len(daemon.told("san", MESSAGE_ID=YIELDED)), 1)


@case("clamp-reload", "what is not wanted any more comes off: Clamp=off, another peer, no peer")
def reload_case(lab):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    san = {"Address": B["ipv4"], "ExpectMTU": 9000}
    daemon = start(lab, a, config({"san": san}, Clamp="route", ClampAfter=1))
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    daemon.write(config({"san": {**san, "Clamp": "off"}, "other": {"Address": "192.0.2.9"}},
                        Clamp="route", ClampAfter=1))
    daemon.reload()
    equal("off for this peer", state(a), before)
    daemon.rounds("san", 3, ClampMTU=0)
    daemon.write(config({"san": san}, {"eth*": {"Clamp": "off"}}, Clamp="route", ClampAfter=1))
    daemon.reload()
    daemon.rounds("san", 3, ClampMTU=0)
    daemon.write(config({"san": san}, Clamp="route", ClampAfter=1))
    daemon.reload()
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    daemon.write(config({"other": {"Address": "192.0.2.9"}}, Clamp="route", ClampAfter=1))
    daemon.reload()
    wait_clamps(daemon, a, {})
    equal("without the peer", state(a), before)


@case("clamp-hostroute", "an administrator's own host route is kept, and explains itself", *FAMILIES)
def host_route(lab, family):
    a, _, s1 = switched(lab)
    bits = 32 if family == "ipv4" else 128
    limit(s1, 1500)
    own = f"{B[family]}/{bits} dev eth0 advmss 1400 proto static"
    a.route(f"add {own}")
    before = state(a)
    daemon = start(lab, a, config({"san": {"Address": B[family], "ExpectMTU": 9000}},
                                  Clamp="route", ClampAfter=1))
    black_hole(daemon, "san", 1500)
    daemon.wait("a refusal", lambda: refused(daemon, "san"))
    daemon.rounds("san", 3, ClampMTU=0)
    equal("refusals", len(refused(daemon, "san")), 1)
    equal("routes", state(a), before)
    a.route(f"del {own}")
    wait_clamps(daemon, a, {B[family]: 1500})
    # one that comes later, beside ours
    a.route(f"add {own} metric 5000")
    wait_clamps(daemon, a, {})
    daemon.rounds("san", 3, ClampMTU=0)
    assert [r for r in routes(a, family) if r.get("metric") == 5000], routes(a, family)


@case("clamp-follow", "the route under a clamp changes: the clamp follows, or comes off", *FAMILIES)
def follow(lab, family):
    a, r1, b = routed(lab, 9000)
    r2 = lab.space("R2", router=True)
    bits = 24 if family == "ipv4" else 64
    second = {"ipv4": ("10.7.0.1", "10.7.0.254"), "ipv6": ("2001:db8:7::1", "2001:db8:7::fe")}[family]
    third = {"ipv4": ("10.8.0.2", "10.8.0.254"), "ipv6": ("2001:db8:8::2", "2001:db8:8::fe")}[family]
    lab.link(a, "eth1", r2, "near", 9000)
    lab.link(r2, "far", b, "eth1", 9000)
    for space, device, address in ((a, "eth1", second[0]), (r2, "near", second[1]),
                                   (b, "eth1", third[0]), (r2, "far", third[1])):
        space.address(device, f"{address}/{bits}")
    for space in (a, b, r1, r2):
        space.sysctl("net.ipv4.conf.all.rp_filter", 0)
        space.sysctl("net.ipv4.conf.default.rp_filter", 0)
    r2.route(f"add {net(FAR[family])} via {third[0]}")
    for router in (r1, r2):
        router.filter("above", ["meta length > 1500 drop"], hook="forward", priority=0)
    b.route(f"add {second[0]}/{32 if family == 'ipv4' else 128} via {third[1]}")
    daemon = start(lab, a, config({"far": {"Address": FAR[family], "ExpectMTU": 9000}},
                                  Clamp="route", ClampAfter=1))
    wait_clamps(daemon, a, {FAR[family]: 1500})

    def ours():
        return next((r for r in routes(a, family) if r.get("protocol") == PROTOCOL), {})
    a.route(f"replace {net(FAR[family])} via {second[1]}")
    daemon.wait("the clamp by the other router", lambda: ours().get("gateway") == second[1])
    daemon.wait_peer("far", Verdict="black-hole", Interface="eth1", ClampMTU=1500)
    # the link goes down and the route with it, and both come back
    a.down("eth1")
    daemon.wait_peer("far", Verdict="unreachable", ClampMTU=0)
    equal("clamps", clamps(a), {})
    a.up("eth1")
    if family == "ipv6":
        a.address("eth1", f"{second[0]}/{bits}")
    a.route(f"replace {net(FAR[family])} via {second[1]}")
    wait_clamps(daemon, a, {FAR[family]: 1500})
    equal("yieldings", daemon.told("far", MESSAGE_ID=YIELDED), [])
    a.route(f"del {net(FAR[family])} via {second[1]}")
    wait_clamps(daemon, a, {})


@case("clamp-copy", "several next hops, source, metric, table, and a next hop of the other family")
def copy(lab):
    a, b = direct(lab, 9000)
    a.address("eth0", "192.0.2.101/24", "192.0.2.102/24")
    b.address("eth0", "192.0.2.3/24", "2001:db8:1::3/64")
    b.address("lo", *(f"203.0.113.{n}/32" for n in (1, 2, 3, 4)), "2001:db8:9::1/128")
    b.drop_above(1500, "eth0")
    a.route("add 203.0.113.0/31 nexthop via 192.0.2.2 dev eth0 weight 3 "
            "nexthop via 192.0.2.3 dev eth0")
    a.route("add 203.0.113.2/31 via 192.0.2.2 src 192.0.2.101 metric 77 initcwnd 20")
    a.ip("route add 203.0.113.4/30 via inet6 2001:db8:1::2 dev eth0")
    a.route("add 2001:db8:9::/64 nexthop via 2001:db8:1::2 dev eth0 "
            "nexthop via 2001:db8:1::3 dev eth0")
    a.ip("route add 203.0.113.2/31 via 192.0.2.3 table 100")
    a.ip("rule add from 192.0.2.102 table 100")
    before = state(a)
    peers = {"multi": {"Address": "203.0.113.1"}, "plain": {"Address": "203.0.113.2"},
             "table": {"Address": "203.0.113.3", "Source": "192.0.2.102"},
             "other": {"Address": "203.0.113.4"}, "six": {"Address": "2001:db8:9::1"}}
    daemon = start(lab, a, config(peers, Clamp="route", ClampAfter=1))
    wait_clamps(daemon, a, {"203.0.113.1": 1500, "203.0.113.2": 1500, "203.0.113.3": 1500,
                            "203.0.113.4": 1500, "2001:db8:9::1": 1500})
    found = {r["dst"]: r for f in FAMILIES for r in routes(a, f) if r.get("protocol") == PROTOCOL}
    equal("next hops", [(h["gateway"], h["weight"]) for h in found["203.0.113.1"]["nexthops"]],
          [("192.0.2.2", 3), ("192.0.2.3", 1)])
    holds(found["203.0.113.2"], gateway="192.0.2.2", prefsrc="192.0.2.101", metric=77)
    equal("other metrics", found["203.0.113.2"]["metrics"][0].get("initcwnd"), 20)
    holds(found["203.0.113.3"], gateway="192.0.2.3", table="100")
    equal("of the other family", found["203.0.113.4"]["via"]["host"], "2001:db8:1::2")
    equal("IPv6 next hops", sorted(h["gateway"] for h in found["2001:db8:9::1"]["nexthops"]),
          ["2001:db8:1::2", "2001:db8:1::3"])
    for name in peers:
        daemon.wait_peer(name, ClampMTU=1500, KernelMTU=1500, Verdict="black-hole")
    b.unfilter("above")
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)


@case("clamp-bound", "a path by another link than the route's is not clamped: it would draw all others")
def bound(lab):
    a, b = direct(lab, 9000)
    lab.link(a, "eth1", b, "eth1", 9000)
    a.address("eth1", "10.1.0.1/24")
    b.address("eth1", "10.1.0.2/24")
    b.address("lo", "203.0.113.2/32")
    for space in (a, b):
        space.sysctl("net.ipv4.conf.all.rp_filter", 0)
        for device in ("eth0", "eth1"):
            space.sysctl(f"net.ipv4.conf.{device}.rp_filter", 0)
    a.route("add 203.0.113.0/24 via 192.0.2.2 dev eth0 metric 10")
    a.route("add 203.0.113.0/24 via 10.1.0.2 dev eth1 metric 20")
    b.drop_above(1500, "eth1")
    before = state(a)
    daemon = start(lab, a, config({"san": {"Address": "203.0.113.2",
                                           "Interface": ["eth0", "eth1"]}},
                                  Clamp="route", ClampAfter=1))
    daemon.wait("a refusal", lambda: refused(daemon, "san"))
    assert "another link" in refused(daemon, "san")[0]["MESSAGE"]
    daemon.rounds("san", 4, ClampMTU=0)
    equal("routes", state(a), before)


@case("clamp-gateway", "discovered peers are clamped only where that is said")
def gateway(lab):
    a, r1, _ = routed(lab, 9000)
    a.route(f"add default via {R1['ipv4']}")
    r1.drop_above(1500, "near")
    text = dict(Discover="gateways", Clamp="route", ClampAfter=1)
    daemon = start(lab, a, config(**text))
    name = f"gateway-eth0-{R1['ipv4']}"
    daemon.wait_peer(name, Verdict="black-hole", PathMTU=1500)
    daemon.rounds(name, 4, ClampMTU=0)
    equal("clamps", clamps(a), {})
    daemon.write(config(ClampDiscovered="yes", **text))
    daemon.reload()
    wait_clamps(daemon, a, {R1["ipv4"]: 1500})


@case("M49clamp", "forged reports never clamp")
def m49(lab):
    a, r1, _ = routed(lab, 1500)
    daemon = start(lab, a, config({"far": {"Address": FAR["ipv4"]}, "six": {"Address": FAR["ipv6"]}},
                                  Clamp="route", ClampAfter=1, ClampFloor=68))
    consistent(daemon, "far", 1500)
    consistent(daemon, "six", 1500)
    before = state(a)
    hardware = a.hardware_address("eth0")
    with contextlib.closing(wire.Sniffer(lab, a, "eth0")) as sniffer:
        daemon.rounds("far", 2)
        daemon.rounds("six", 1)
        quoted = {to: sniffer.requests(to)[-1].bytes for to in (FAR["ipv4"], FAR["ipv6"])}
    for mtu in (0, 68, 551, 1279, 1280, 1400, 1499, 65535) * 4:
        for family in FAMILIES:
            for claimed in (FAR[family], R1[family]):
                wire.forge(r1, "near", hardware, claimed, A[family], mtu, quoted[FAR[family]])
    # also while rounds run, whatever they ask just then
    with contextlib.closing(wire.Sniffer(lab, a, "eth0")) as sniffer:
        until = daemon.peer("far")["Rounds"] + 6
        while daemon.peer("far")["Rounds"] < until:
            for family in FAMILIES:
                for probe in sniffer.requests(FAR[family])[-2:]:
                    wire.forge(r1, "near", hardware, R1[family], A[family], 1300, probe.bytes)
    daemon.rounds("far", 2, ClampMTU=0, Verdict="consistent")
    daemon.rounds("six", 2, ClampMTU=0)
    equal("clamps", clamps(a), {})
    equal("routes", state(a), before)
    equal("records", daemon.told("far", MESSAGE_ID=CLAMPED), [])


@case("clamp-privilege", "without CAP_NET_ADMIN it says what to set; without clamps it does not keep it")
def privilege(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    peers = {"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}
    daemon = start(lab, a, config(peers, Clamp="route", ClampAfter=1), start=False)
    shell = daemon.shell
    daemon.shell = lambda *words: [w if w != 'exec "$@"' else w for w in shell(*words)]
    script = shell("x")
    at = script.index(next(w for w in script if 'exec "$@"' in w))

    def without(*words):
        line = shell(*words)
        line[at] = line[at].replace('exec "$@"', 'exec setpriv --bounding-set=-net_admin '
                                    '--inh-caps=-net_admin "$@"')
        return line
    daemon.shell = without
    daemon.start()
    black_hole(daemon, "san", 1500)
    daemon.wait("a refusal", lambda: refused(daemon, "san"))
    assert [r for r in daemon.records if "CAP_NET_ADMIN is missing" in r.get("MESSAGE", "")
            and int(r["PRIORITY"]) == 4]
    daemon.rounds("san", 3, ClampMTU=0)
    equal("its end", daemon.stop(), 0)
    daemon.shell = shell
    for text, wanted in ((config(peers), False), (config(peers, Clamp="route"), True)):
        daemon.write(text)
        daemon.start()
        daemon.wait_peer("san", Verdict="black-hole")
        equal("CAP_NET_ADMIN", admin(daemon.process.pid), wanted)
        equal("its end", daemon.stop(), 0)


def admin(pid):
    """Whether every thread of the process may change the network's setup, or none may."""
    held = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            line = next(x for x in file if x.startswith("CapPrm"))
        held.add(bool(int(line.split()[1], 16) >> 12 & 1))
    return held.pop() if len(held) == 1 else held
