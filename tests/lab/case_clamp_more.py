# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clamps in networks that move: routers, names, links and configurations that change under them."""

import contextlib
import os
import signal
import socket
import struct
import subprocess
import threading

from case_clamp import (CLAMPED, PROTOCOL, RELEASED, YIELDED, clamps, refused, release, routes, state,
                        wait_clamps)
from case_clamp_link import QUICK, begin, mtus, wait_mtu
from cases import black_hole, case, consistent, equal, holds, never, start
from daemon import CTL, DEADLINE, PATIENCE, BusError, config
from topology import (A, B, BITS, FAMILIES, FAR, R1, direct, limit, multipath, net, routed, switched)

HOST = {"ipv4": 32, "ipv6": 128}
EAGER = dict(Clamp="route", ClampAfter=1)


def ours(space, family="ipv4"):
    return [r for r in routes(space, family) if r.get("protocol") == PROTOCOL]


def no_reverse_filter(*spaces):
    for space in spaces:
        for key in ("all", "default"):
            space.sysctl(f"net.ipv4.conf.{key}.rp_filter", 0)
        for device in os.popen(f"ip -n {space.name} -o link").read().splitlines():
            name = device.split(":")[1].strip().split("@")[0]
            space.sysctl(f"net.ipv4.conf.{name}.rp_filter", 0)


@case("clamp-default", "a default route of two next hops: copied whole, followed, and through a flap",
      *FAMILIES)
def default(lab, family):
    a, r1, b = routed(lab, 9000)
    r2 = lab.space("R2", router=True)
    near = {"ipv4": ("10.7.0.1", "10.7.0.254"), "ipv6": ("2001:db8:7::1", "2001:db8:7::fe")}[family]
    far = {"ipv4": ("10.8.0.2", "10.8.0.254"), "ipv6": ("2001:db8:8::2", "2001:db8:8::fe")}[family]
    lab.link(a, "eth1", r2, "near", 9000)
    lab.link(r2, "far", b, "eth1", 9000)
    for space, device, address in ((a, "eth1", near[0]), (r2, "near", near[1]), (b, "eth1", far[0]),
                                   (r2, "far", far[1])):
        space.address(device, f"{address}/{BITS[family]}")
    no_reverse_filter(a, b, r1, r2)
    r2.route(f"add {net(FAR[family])} via {far[0]}")
    b.route(f"add {near[0]}/{HOST[family]} via {far[1]}")
    a.route(f"del {net(FAR[family])} via {R1[family]}")
    hops = f"nexthop via {R1[family]} dev eth0 nexthop via {near[1]} dev eth1"
    a.route(f"add default metric 50 {hops}")
    b.drop_above(1500, "eth0")
    b.drop_above(1500, "eth1", table="above1")
    before = state(a)
    daemon = start(lab, a, config({"far": {"Address": FAR[family], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {FAR[family]: 1500})
    one, = ours(a, family)
    equal("its metric", one["metric"], 50)
    equal("its next hops", sorted(h["gateway"] for h in one["nexthops"]),
          sorted((R1[family], near[1])))
    daemon.wait_peer("far", ClampMTU=1500, KernelMTU=1500)
    # one next hop goes
    a.route(f"replace default metric 50 via {R1[family]} dev eth0") if family == "ipv4" else \
        a.route(f"del default metric 50 via {near[1]} dev eth1")
    daemon.wait("the clamp by one router", lambda: [r.get("gateway") for r in ours(a, family)] ==
                [R1[family]])
    # a flap, three times, and with a pause too
    for _ in range(3):
        a.route(f"del default metric 50 via {R1[family]} dev eth0")
        a.route(f"add default metric 50 via {R1[family]} dev eth0")
    daemon.rounds("far", 2)
    wait_clamps(daemon, a, {FAR[family]: 1500})
    a.route(f"del default metric 50 via {R1[family]} dev eth0")
    wait_clamps(daemon, a, {})
    a.route(f"add default metric 50 {hops}")
    wait_clamps(daemon, a, {FAR[family]: 1500})
    b.unfilter("above")
    b.unfilter("above1")
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)
    equal("yieldings", daemon.told(MESSAGE_ID=YIELDED), [])


@case("clamp-linklocal", "a router with a link-local address that is a peer as well, a preferred one too")
def linklocal(lab):
    a, r1, b = routed(lab, 9000)
    r1.ip("address add fe80::fe/64 dev near nodad")
    a.route(f"del {net(FAR['ipv6'])} via {R1['ipv6']}")
    a.route("add default via fe80::fe dev eth0 metric 700 pref high")
    r1.drop_above(1500, "near")
    before = state(a)
    daemon = start(lab, a, config({
        "gw": {"Address": "fe80::fe%eth0", "ExpectMTU": 9000},
        "far": {"Address": FAR["ipv6"], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {"fe80::fe": 1500, FAR["ipv6"]: 1500})
    one, = [r for r in ours(a, "ipv6") if r["dst"] == FAR["ipv6"]]
    holds(one, gateway="fe80::fe", metric=700, pref="high")
    for name in ("gw", "far"):
        daemon.wait_peer(name, ClampMTU=1500, KernelMTU=1500, Verdict="black-hole")
    # routes by the clamped router can still be made
    a.route("add 2001:db8:77::/64 via fe80::fe dev eth0")
    a.route("del 2001:db8:77::/64 via fe80::fe dev eth0")
    release(daemon, "gw")
    equal("the other one stays", clamps(a), {FAR["ipv6"]: 1500})
    daemon.process.kill()
    daemon.process.wait()
    r1.unfilter("above")
    daemon.start()
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)


@case("clamp-twogw", "a clamp of the router itself leaves what is behind it alone", *FAMILIES)
def two_gateway(lab, family):
    a, r1, _ = routed(lab, 9000)
    # addressed to the router: small ones only
    r1.filter("own", ["meta length > 1500 drop"], hook="input", priority=0)
    before = state(a)
    daemon = start(lab, a, config({"gw": {"Address": R1[family]}}, **EAGER))
    wait_clamps(daemon, a, {R1[family]: 1500})
    behind = daemon.probe(FAR[family])
    holds(behind, Verdict="consistent", PathMTU=9000, KernelMTU=9000, ClampMTU=0)
    more = "203.0.113.0/24" if family == "ipv4" else "2001:db8:77::/64"
    a.route(f"add {more} via {R1[family]}")
    a.route(f"del {more} via {R1[family]}")
    r1.unfilter("own")
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)


@case("clamp-address", "the host's address goes under a clamp, and comes back", *FAMILIES)
def address(lab, family):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    daemon = start(lab, a, config({"san": {"Address": B[family], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {B[family]: 1500})
    a.ip(f"address del {A[family]}/{BITS[family]} dev eth0")
    wait_clamps(daemon, a, {})
    equal("no yielding", daemon.told(MESSAGE_ID=YIELDED), [])
    a.address("eth0", f"{A[family]}/{BITS[family]}")
    wait_clamps(daemon, a, {B[family]: 1500})


@case("clamp-twice", "two peers of one address: the clamp stays as long as one wants it")
def twice(lab):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    san = {"Address": B["ipv4"], "ExpectMTU": 9000}
    daemon = start(lab, a, config({"one": san, "two": san, "off": {**san, "Clamp": "off"}}, **EAGER))
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    for name in ("one", "two"):
        daemon.wait_peer(name, ClampMTU=1500, Verdict="black-hole")
    daemon.rounds("off", 3, Verdict="black-hole")
    equal("clamps", clamps(a), {B["ipv4"]: 1500})
    daemon.write(config({"two": san, "off": {**san, "Clamp": "off"}}, **EAGER))
    daemon.reload()
    daemon.rounds("two", 3, ClampMTU=1500)
    daemon.write(config({"off": {**san, "Clamp": "off"}}, **EAGER))
    daemon.reload()
    wait_clamps(daemon, a, {})
    daemon.rounds("off", 3, ClampMTU=0)
    equal("what was there before", state(a), before)


@case("clamp-restart", "ended in any way and begun with another configuration: what nobody wants is gone",
      "off", "gone", "link")
def restart(lab, how):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    san = {"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}
    other = {"other": {"Address": "192.0.2.77"}}
    daemon, folder = begin(lab, a, config(san, **EAGER))
    changed = {"off": config(san), "gone": config(other, **EAGER),
               "link": config(san, **{**QUICK, "ClampRetry": "1h"})}[how]
    for number in (signal.SIGKILL, signal.SIGTERM):
        wait_clamps(daemon, a, {B["ipv4"]: 1500})
        daemon.process.send_signal(number)
        daemon.process.wait()
        equal("while nobody is there", clamps(a), {B["ipv4"]: 1500})
        daemon.write(changed)
        daemon.start()
        if how == "link":
            # one in force is good enough
            daemon.rounds("san", 3, ClampMTU=1500)
            equal("one or the other", (clamps(a) != {}) + (mtus(a)["eth0"] == 1500), 1)
        else:
            wait_clamps(daemon, a, {})
            equal("what was there before", state(a), before)
        equal("its end", daemon.stop(), 0)
        daemon.write(config(san, **EAGER))
        daemon.start()
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    s1.mtu("trunk", 9000)
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)
    equal("records", os.listdir(folder), [])


@case("clamp-kinds", "from route to link to route to off, while it is in force", *FAMILIES)
def kinds(lab, family):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    san = {"san": {"Address": B[family], "ExpectMTU": 9000}}
    daemon, folder = begin(lab, a, config(san, **{**QUICK, "ClampRetry": "1h"}))
    wait_mtu(daemon, a, 1500)
    daemon.wait_peer("san", ClampKind="link")
    daemon.write(config(san, **EAGER))
    daemon.reload()
    wait_mtu(daemon, a, 9000)
    wait_clamps(daemon, a, {B[family]: 1500})
    daemon.wait_peer("san", ClampKind="route", ClampMTU=1500, LinkMTU=9000, Verdict="black-hole")
    equal("records", os.listdir(folder), [])
    daemon.write(config(san))
    daemon.reload()
    equal("what was there before", state(a), before)
    # what is not asked for is given up; that is said, and a start has it again
    daemon.write(config(san, **{**QUICK, "ClampRetry": "1h"}))
    daemon.reload()
    daemon.wait("what to do", lambda: [r for r in daemon.records if "restart it" in r["MESSAGE"]])
    equal("its end", daemon.stop(), 0)
    daemon.start()
    wait_mtu(daemon, a, 1500)
    daemon.write(config(san))
    daemon.reload()
    wait_mtu(daemon, a, 9000)
    equal("what was there before", state(a), before)
    equal("records", os.listdir(folder), [])


@case("clamp-name", "a host name whose address changes: the clamp goes with it")
def name_changes(lab):
    a, b, s1 = switched(lab)
    second = "192.0.2.12"
    b.address("eth0", f"{second}/24")
    limit(s1, 1500)
    before = state(a)
    lab.hosts_file(a, [f"{B['ipv4']} filer.example"])
    daemon = start(lab, a, config({"filer": {"Address": "filer.example", "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    lab.hosts_file(a, [f"{second} filer.example"])
    daemon.reload()
    daemon.wait("the other address", lambda: clamps(a) == {second: 1500}, 90)
    # a restart while names cannot be looked up keeps it until they can
    s1.mtu("trunk", 9000)
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)


@case("clamp-both", "both families of a name, and two links: each path has its own")
def both_families(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    before = state(a)
    lab.hosts_file(a, [f"{B['ipv4']} filer.example", f"{B['ipv6']} filer.example"])
    daemon = start(lab, a, config({"filer": {"Address": "filer.example", "Family": "both",
                                             "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {B["ipv4"]: 1500, B["ipv6"]: 1500})
    release(daemon, "filer")
    equal("what was there before", state(a), before)
    daemon.rounds("filer", 3, ClampMTU=0)
    s1.mtu("trunk", 9000)
    consistent(daemon, "filer", 9000)
    limit(s1, 1500)
    wait_clamps(daemon, a, {B["ipv4"]: 1500, B["ipv6"]: 1500})
    # one family heals
    s1.mtu("trunk", 9000)
    s1.filter("six", ["ip6 version 6 meta length > 1500 drop"], family="bridge")
    wait_clamps(daemon, a, {B["ipv6"]: 1500})
    s1.unfilter("six", "bridge")
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)


@case("clamp-rename", "a clamped link that gets another name has its MTU back all the same")
def rename(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    wait_mtu(daemon, a, 1500)
    daemon.wait_peer("san", ClampKind="link")
    a.down("eth0")
    a.ip("link set eth0 name storage0")
    a.up("storage0")
    daemon.wait_link("storage0", OriginalMTU=9000, MTU=1500)
    daemon.wait_peer("san", ClampKind="link", Interface="storage0", Verdict="black-hole")
    daemon.process.kill()
    daemon.process.wait()
    a.down("storage0")
    a.ip("link set storage0 name other0")
    a.up("other0")
    daemon.start()
    daemon.wait_link("other0", OriginalMTU=9000, MTU=1500)
    release(daemon, "other0")
    equal("its MTU", mtus(a)["other0"], 9000)
    equal("records", os.listdir(folder), [])


@case("clamp-elsewhere", "a record of another network namespace is none of ours, and stays")
def elsewhere(lab):
    a, _, s1 = switched(lab)
    c = lab.space("C")
    d = lab.space("D")
    lab.link(c, "eth0", d, "eth0", 1500)
    c.address("eth0", "192.0.2.7/24")
    limit(s1, 1500)
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    wait_mtu(daemon, a, 1500)
    daemon.wait_peer("san", ClampKind="link")
    index = lambda space: os.popen(f"ip -n {space.name} -o link show eth0").read().split(":")[0]
    equal("the same index", index(a), index(c))
    before = state(c)
    other, _ = begin(lab, c, config({"far": {"Address": "192.0.2.8"}}))
    other.wait_peer("far", Verdict="unreachable")
    equal("the other namespace", state(c), before)
    equal("records", len(os.listdir(folder)), 1)
    status, said, _ = other.once("--release")
    equal("--release", status, 0)
    equal("the other namespace", state(c), before)
    equal("records", len(os.listdir(folder)), 1)
    release(daemon, "")
    equal("its MTU", mtus(a)["eth0"], 9000)


@case("clamp-bus", "nobody but the administrator takes a clamp off by the bus")
def bus_user(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    daemon = start(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    for names in ("", "san", "eth0", "nobody", "\t", "a" * 5000):
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "busctl",
             f"--address={daemon.bus.address}", "call", "org.mtuwatch1", "/org/mtuwatch1",
             "org.mtuwatch1.Manager", "Release", "s", names], capture_output=True, text=True)
        assert done.returncode != 0, names
        # what nobody can be called is not kept until it is known who may
        refusals = ("so long a name",) if len(names) > 64 else ("enied", "ermission", "uthoriz")
        assert any(word in done.stderr for word in refusals), done.stderr
    daemon.rounds("san", 2, ClampMTU=1500)
    equal("clamps", clamps(a), {B["ipv4"]: 1500})


def status(daemon, name):
    """What the tool tells of it."""
    return subprocess.run([CTL, "status", name],
                          env=daemon.environment(), capture_output=True, text=True).stdout


@case("clamp-shown", "the tool tells of a clamp, and why there is none")
def shown(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    daemon = start(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    assert "Clamped: to 1500 by route" in status(daemon, "san"), status(daemon, "san")
    release(daemon, "san")
    assert "Not clamped: it was taken off" in status(daemon, "san"), status(daemon, "san")
    s1.mtu("trunk", 9000)
    consistent(daemon, "san", 9000)
    assert "lamped" not in status(daemon, "san"), status(daemon, "san")


@case("clamp-two-links", "a peer by two links, each of them clamped by itself")
def two_links(lab):
    a, b = direct(lab, 9000)
    lab.link(a, "eth1", b, "eth1", 9000)
    for space in (a, b):
        space.sysctl("net.ipv4.conf.all.rp_filter", 0)
        space.sysctl("net.ipv4.conf.all.arp_ignore", 1)
        for device in ("eth0", "eth1"):
            space.sysctl(f"net.ipv4.conf.{device}.rp_filter", 0)
    a.address("eth1", "10.1.0.1/24")
    b.address("eth1", "10.1.0.2/24")
    b.address("lo", "203.0.113.2/32")
    a.route("add 203.0.113.0/24 via 192.0.2.2 dev eth0 metric 10")
    a.route("add 203.0.113.0/24 via 10.1.0.2 dev eth1 metric 20")
    b.route("add default via 192.0.2.1")
    b.drop_above(1500, "eth1")
    before = state(a)
    daemon, folder = begin(lab, a, config({"san": {"Address": "203.0.113.2",
                                                   "Interface": ["eth0", "eth1"]}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    wait_mtu(daemon, a, 1500, "eth1")
    daemon.rounds("san", 4)
    equal("the other link", mtus(a)["eth0"], 9000)
    equal("routes", clamps(a), {})
    b.unfilter("above")
    release(daemon, "san")
    equal("what was there before", state(a), before)


@case("clamp-quorum-heard", "what nothing bears out, and whom nobody named, is no vote for a link's clamp")
def quorum_heard(lab):
    a, b, s1 = switched(lab)
    liar = lab.space("L")
    lab.link(s1, "pl", liar, "eth0", 9000)
    liar.address("eth0", f"{R1['ipv4']}/24")
    a.route(f"add default via {R1['ipv4']}")
    limit(s1, 1500)
    liar.drop_above(1500, "eth0")
    peers = {"san": {"Address": B["ipv4"], "ExpectMTU": 9000}, "gone": {"Address": "192.0.2.77"}}
    daemon, _ = begin(lab, a, config(peers, Discover="gateways", **QUICK))
    daemon.wait_peer(f"gateway-eth0-{R1['ipv4']}", Verdict="black-hole", PathMTU=1500)
    daemon.wait_peer("gone", Verdict="unreachable")
    daemon.wait("the route", lambda: clamps(a) == {B["ipv4"]: 1500})
    daemon.rounds("san", 3, ClampKind="route", LinkMTU=9000)


@case("clamp-judged", "a clamped link, and what stands on it, is judged as it was before")
def judged(lab):
    a, _, s1 = switched(lab)
    a.ip("link add mv0 link eth0 mtu 9000 type macvlan mode bridge")
    a.ip("link add vx0 type vxlan id 9 dstport 4789 dev eth0 remote 192.0.2.2")
    for device in ("mv0", "vx0"):
        a.up(device)
    daemon, _ = begin(lab, a, config({"san": {"Address": B["ipv4"], "Interface": "eth0"}},
                                     {"vx0": {"ExpectMTU": 8950}, "mv0": {"ExpectMTU": 9000}},
                                     **{**QUICK, "ClampRetry": "1h"}))

    def found():
        return {one["Name"]: (one["Findings"], one["Severity"])
                for one in daemon.objects("org.mtuwatch1.Link")}
    consistent(daemon, "san", 9000)
    before = found()
    limit(s1, 1500)
    wait_mtu(daemon, a, 1500)
    wait_mtu(daemon, a, 1450, "vx0")
    daemon.wait_link("vx0", OriginalMTU=8950)
    daemon.rounds("san", 3, ClampKind="link")
    equal("findings", found(), before)
    equal("of the peer", daemon.peer("san")["Findings"], [])
    release(daemon, "")
    daemon.wait_link("vx0", OriginalMTU=0, MTU=8950)
    equal("findings", found(), before)


@case("clamp-moved", "a clamped link that is moved to another namespace, and one that comes after it")
def moved(lab):
    a, _, s1 = switched(lab)
    pod = lab.space("P")
    limit(s1, 1500)
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    wait_mtu(daemon, a, 1500)
    daemon.wait_peer("san", ClampKind="link")
    a.ip(f"link set eth0 netns {pod.name}")
    record, = daemon.wait("its end", lambda: daemon.told(MESSAGE_ID=RELEASED))
    assert "has gone" in record["MESSAGE"], record["MESSAGE"]
    equal("records", os.listdir(folder), [])
    daemon.wait_peer("san", ClampMTU=0, Verdict="unreachable")
    equal("Clamped", daemon.manager()["Clamped"], 0)


@case("clamp-container", "what stands on the link in a namespace of its own keeps the link from a clamp")
def container(lab):
    a, _, s1 = switched(lab)
    pod = lab.space("P")
    a.ip("link add mv0 link eth0 mtu 9000 type macvlan mode bridge")
    a.ip(f"link set mv0 netns {pod.name}")
    pod.address("mv0", "192.0.2.31/24")
    pod.up("mv0")
    limit(s1, 1500)
    before, inside = state(a), state(pod)
    daemon, _ = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **QUICK))
    black_hole(daemon, "san", 1500)
    daemon.wait("a refusal or a clamp", lambda: refused(daemon, "san") or mtus(a)["eth0"] == 1500)
    with contextlib.suppress(BusError):
        release(daemon, "")
    equal("what was there before", state(a), before)
    equal("what is inside", state(pod), inside)
    equal("refusals", len(refused(daemon, "san")), 1)


@case("clamp-above", "a peer by a link that stands on the clamped one is good at more: a route then")
def above(lab):
    a, _, s1 = switched(lab)
    c = lab.space("C")
    lab.link(s1, "pc", c, "eth0", 9000)
    c.address("eth0", "203.0.113.3/24")
    a.ip("link add mv0 link eth0 mtu 9000 type macvlan mode bridge")
    a.address("mv0", "203.0.113.1/24")
    a.up("mv0")
    limit(s1, 1500)
    before = state(a)
    daemon, _ = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000},
                                      "well": {"Address": "203.0.113.3"}}, **QUICK))
    daemon.wait("the route", lambda: clamps(a) == {B["ipv4"]: 1500})
    daemon.rounds("well", 4, Verdict="consistent", PathMTU=9000, ClampMTU=0)
    equal("the links", state(a)[0], before[0])


@case("clamp-ownroute", "an IPv6 route with an MTU of its own, which a link's clamp would lose")
def own_route(lab):
    a, _, s1 = switched(lab)
    a.route(f"add 2001:db8:77::/64 via {R1['ipv6']} mtu 4000")
    a.route(f"add 2001:db8:78::/64 via {R1['ipv6']} mtu 1400")
    a.route(f"add 2001:db8:79::/64 via {R1['ipv6']} mtu lock 4000")
    limit(s1, 1500)
    before = state(a)
    daemon, _ = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **QUICK))
    daemon.wait("a refusal or a clamp", lambda: refused(daemon, "san") or mtus(a)["eth0"] == 1500)
    daemon.rounds("san", 2, ClampMTU=0)
    equal("what was there before", state(a), before)
    a.route("del 2001:db8:77::/64")
    before = state(a)
    wait_mtu(daemon, a, 1500)
    release(daemon, "")
    equal("what was there before", state(a), before)


@case("clamp-moves", "the hole gets smaller and larger under a clamp: the clamp goes along", "route", "link")
def moves(lab, kind):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    settings = EAGER if kind == "route" else QUICK
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **settings))
    # a link is raised by a trial alone
    for size in (1500, 1400, 3000) if kind == "route" else (1500, 1400):
        limit(s1, size)
        daemon.wait_peer("san", ClampMTU=size, ClampKind=kind, KernelMTU=size, PathMTU=size)
        if kind == "link":
            wait_mtu(daemon, a, size)
    s1.mtu("trunk", 9000)
    daemon.wait_peer("san", ClampMTU=0, Verdict="consistent", PathMTU=9000)
    daemon.wait("no locks", lambda: clamps(a) == {})
    equal("what was there before", state(a), before)
    equal("records", os.listdir(folder), [])


def wait_trial(space):
    """Until the link is raised for a trial, by the kernel's own word: it takes a moment only."""
    monitor = subprocess.Popen(space.command("ip", "-oneline", "monitor", "link"),
                               stdout=subprocess.PIPE, text=True)
    limit = threading.Timer(DEADLINE * PATIENCE, monitor.kill)
    limit.start()
    with monitor:
        raised = any(" eth0" in line and " mtu 9000 " in line for line in monitor.stdout)
        monitor.kill()
    limit.cancel()
    assert raised, "no trial"


@case("clamp-trial-ends", "released, reloaded, stopped and killed while it is tried: nothing is left",
      "release", "reload", "term", "kill")
def trial_ends(lab, how):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    peers = {"san": {"Address": B["ipv4"], "ExpectMTU": 9000},
             "calm": {"Address": B["ipv6"], "Clamp": "off"}}
    # more tries make a trial long enough to meet it
    daemon, folder = begin(lab, a, config(peers, Tries=6, **QUICK))
    wait_mtu(daemon, a, 1500)
    wait_trial(a)
    if how == "release":
        release(daemon, "")
    elif how == "reload":
        daemon.write(config(peers))
        daemon.reload()
    else:
        daemon.process.send_signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        daemon.process.wait()
        equal("--release", daemon.once("--release")[0], 0)
        equal("what was there before", state(a), before)
        daemon.write(config(peers))
        daemon.start()
    for name in peers:
        daemon.wait_peer(name, ClampMTU=0, KernelMTU=9000)
    daemon.wait("what was there before", lambda: state(a) == before)
    daemon.rounds("san", 2)
    equal("what was there before", state(a), before)
    equal("records", os.listdir(folder), [])
    equal("the other's", daemon.told("calm", MESSAGE_ID=RELEASED) if how != "reload" else [], [])


@case("clamp-advmss", "a route that announces segments of its own announces smaller ones", *FAMILIES)
def advmss(lab, family):
    a, r1, _ = routed(lab, 9000)
    a.route(f"replace {net(FAR[family])} via {R1[family]} advmss 8900 initcwnd 20")
    r1.filter("above", ["meta length > 1500 drop"], hook="forward", priority=0)
    before = state(a)
    daemon = start(lab, a, config({"far": {"Address": FAR[family], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {FAR[family]: 1500})
    metrics, = ours(a, family)[0]["metrics"]
    holds(metrics, initcwnd=20, advmss=1460 if family == "ipv4" else 1440)
    r1.unfilter("above")
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)


def advertise(router, device, lifetime, mtu=0):
    """One router advertisement (RFC 4861 section 4.2) to all hosts on this link."""
    text = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, lifetime, 0, 0)
    if mtu:
        text += struct.pack("!BBHI", 5, 1, 0, mtu)
    with router.entered():
        index = socket.if_nametoindex(device)
        with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as out:
            out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
            out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            out.sendto(text, ("ff02::1", 0, 0, index))


@case("clamp-advertised", "a router that advertises itself: followed while it does, gone when it stops")
def advertised(lab):
    a, r1, b = routed(lab, 9000)
    a.route(f"del {net(FAR['ipv6'])} via {R1['ipv6']}")
    r1.filter("above", ["meta length > 1500 drop"], hook="forward", priority=0)
    daemon = start(lab, a, config({"far": {"Address": FAR["ipv6"], "ExpectMTU": 9000}}, **EAGER))
    advertise(r1, "near", 1800)
    wait_clamps(daemon, a, {FAR["ipv6"]: 1500})
    one, = ours(a, "ipv6")
    assert one["gateway"].startswith("fe80::"), one
    assert "expires" not in one, one
    for _ in range(5):
        advertise(r1, "near", 1800)
        daemon.rounds("far", 1, ClampMTU=1500, KernelMTU=1500)
    equal("clamped once", len(daemon.told("far", MESSAGE_ID=CLAMPED)), 1)
    # no router any more: no route of ours that pretends there were one
    advertise(r1, "near", 0)
    wait_clamps(daemon, a, {})
    equal("routes to it", [r for r in routes(a, "ipv6") if r["dst"] in ("default", FAR["ipv6"])], [])
    advertise(r1, "near", 1800)
    wait_clamps(daemon, a, {FAR["ipv6"]: 1500})
    r1.unfilter("above")
    wait_clamps(daemon, a, {})
    equal("yieldings", daemon.told(MESSAGE_ID=YIELDED), [])


def socket_mtu(space, address):
    """What an ordinary program's packets would have."""
    ipv6 = ":" in address
    with space.entered(), socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET,
                                        socket.SOCK_DGRAM) as one:
        one.connect((address, 9))
        return one.getsockopt(socket.IPPROTO_IPV6 if ipv6 else socket.IPPROTO_IP, 24 if ipv6 else 14)


@case("clamp-nexthops", "routes by nexthop objects, a group of them, and one that is taken away", *FAMILIES)
def nexthops(lab, family):
    a, r1, b = routed(lab, 9000)
    flag = "-6 " if family == "ipv6" else ""
    a.route(f"del {net(FAR[family])} via {R1[family]}")
    a.ip(f"{flag}nexthop add id 11 via {R1[family]} dev eth0")
    a.ip("nexthop add id 20 group 11")
    a.ip(f"{flag}route add {net(FAR[family])} nhid 20")
    r1.filter("above", ["meta length > 1500 drop"], hook="forward", priority=0)
    before = state(a)
    daemon = start(lab, a, config({"far": {"Address": FAR[family], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {FAR[family]: 1500})
    one, = ours(a, family)
    equal("its hop, and not the object that others share", (one.get("gateway"), one.get("nhid")),
          (R1[family], None))
    daemon.wait_peer("far", ClampMTU=1500, KernelMTU=1500)
    beside = FAR[family][:-1] + "9"
    for address, size in ((FAR[family], 1500), (beside, 9000)) * 3:
        equal(f"what a socket to {address} uses", socket_mtu(a, address), size)
    # the object gets another hop, and the copy with it
    other = R1[family][:-1] + ("3" if family == "ipv4" else "d")
    r1.address("near", f"{other}/{BITS[family]}")
    for hop in (other, R1[family]):
        a.ip(f"{flag}nexthop replace id 11 via {hop} dev eth0")
        daemon.wait(f"the clamp by {hop}", lambda: [r.get("gateway") for r in ours(a, family)] == [hop])
    release(daemon, "")
    equal("what was there before", state(a), before)
    r1.unfilter("above")
    consistent(daemon, "far", 9000)
    r1.filter("above", ["meta length > 1500 drop"], hook="forward", priority=0)
    wait_clamps(daemon, a, {FAR[family]: 1500})
    # all routes by it go with it, ours too
    a.ip("nexthop del id 20")
    wait_clamps(daemon, a, {})
    daemon.wait_peer("far", Verdict="unreachable", ClampMTU=0)
    a.ip("nexthop add id 20 group 11")
    a.ip(f"{flag}route add {net(FAR[family])} nhid 20")
    wait_clamps(daemon, a, {FAR[family]: 1500})
    r1.unfilter("above")
    wait_clamps(daemon, a, {})
    equal("what was there before", state(a), before)


@case("clamp-verdicts", "lossy and unverifiable are not treated")
def verdicts(lab):
    a, b = direct(lab, 1500)
    b.address("eth0", "192.0.2.3/24", "192.0.2.4/24")
    b.filter("lossy", ["ip daddr 192.0.2.3 meta length > 1000 numgen random mod 100 < 40 drop",
                       "ip daddr 192.0.2.4 icmp type echo-request drop",
                       "ip daddr 192.0.2.4 meta l4proto udp drop",
                       "ip daddr 192.0.2.4 tcp dport != 3260 drop",
                       "ip daddr 192.0.2.4 meta length > 200 drop"])
    with b.entered():
        listener = socket.create_server(("192.0.2.4", 3260))
    before = state(a)
    daemon = start(lab, a, config({"lossy": {"Address": "192.0.2.3"},
                                   "mute": {"Address": "192.0.2.4"}}, **EAGER))
    daemon.rounds("lossy", 12, 120, ClampMTU=0)
    daemon.rounds("mute", 3, 120, ClampMTU=0)
    never(daemon, "lossy", "black-hole", "partial")
    equal("what was there before", state(a), before)
    listener.close()


@case("clamp-legs", "one leg of several: a hole in it is treated, a dead one is not", *FAMILIES)
def legs(lab, family):
    a, r1, r2, b = multipath(lab, family)
    before = state(a)
    daemon = start(lab, a, config({"far": {"Address": FAR[family], "ExpectMTU": 9000,
                                           "Flows": 16, "Method": "tcp", "Port": 3260}}, **EAGER),
                   start=False)
    with b.entered():
        listener = socket.create_server((FAR[family], 3260), family=socket.AF_INET6
                                        if family == "ipv6" else socket.AF_INET)
    r2.filter("dead", ['iifname "leg2" drop'])
    daemon.start()
    daemon.rounds("far", 6, 120, ClampMTU=0)
    equal("what was there before", state(a), before)
    r2.unfilter("dead")
    r2.drop_above(1500, "leg2")
    daemon.wait_peer("far", 120, Verdict="partial", PathMTU=1500)
    wait_clamps(daemon, a, {FAR[family]: 1500})
    r2.unfilter("above")
    wait_clamps(daemon, a, {}, 120)
    equal("what was there before", state(a), before)
    listener.close()


@case("clamp-once", "who is asked once changes nothing, and sees the hole through the clamp")
def once(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    daemon = start(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **EAGER))
    wait_clamps(daemon, a, {B["ipv4"]: 1500})
    before = state(a)
    for words in (("--once",), ("--once", B["ipv4"]), ("--once", "--config", daemon.file)):
        status, said, _ = daemon.once(*words)
        if B["ipv4"] in said:
            equal(f"{words}", status, 2)
            assert "black-hole" in said, said
        equal("what was there before", state(a), before)
    equal("released", daemon.told(MESSAGE_ID=RELEASED), [])
