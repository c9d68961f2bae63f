# SPDX-License-Identifier: LGPL-2.1-or-later
"""Links that lie on each other or belong together: what is found, and how often it is said."""

import re
import socket
import struct

from cases import case, consistent, equal, never, recovered, silent, start
from daemon import config
from topology import A, B, BITS, FAMILIES, FAR, direct, routed

APPEARED = "a9557370138546c78d300f41b90a2b8e"
GONE = "a58f5f23ee5b49a69d46b6fe59b5c216"
CHANGED = "17ae3aeec3f64d3ea1c1870e544a5f49"
WORSENED = "73cab60773f446e384d84a4a64470529"


def ids(daemon, link):
    return [f[0] for f in daemon.wait_link(link)["Findings"]]


def wait_finding(daemon, link, *wanted):
    """Until the link has just these findings; the last of them."""
    state = daemon.wait_link(link, Findings=lambda all_: [f[0] for f in all_] == list(wanted))
    return state["Findings"][-1] if wanted else None


def records(daemon, kind, **fields):
    return daemon.told(MESSAGE_ID=kind, **fields)


def wait_records(daemon, count, kind, **fields):
    daemon.wait(f"{count} records {fields}", lambda: len(records(daemon, kind, **fields)) >= count)
    found = records(daemon, kind, **fields)
    equal(f"number of records {fields}", len(found), count)
    return found


def set_mtu(space, bridge, mtu):
    """As an administrator would. What changes nothing does not count as set."""
    space.mtu(bridge, mtu - 1)
    space.mtu(bridge, mtu)


def no_finding_records(daemon):
    equal("findings told by themselves", [r["MESSAGE"] for r in records(daemon, APPEARED)], [])


def bridge_on(network, family, port_mtu, far_mtu):
    """A's br0 with the port p0, and B behind it."""
    a, b = network.space("A"), network.space("B")
    network.link(a, "p0", b, "eth0", port_mtu, far_mtu)
    a.ip("link add br0 type bridge forward_delay 0 mcast_snooping 0")
    a.ip("link set p0 master br0")
    a.up("br0")
    a.address("br0", f"{A[family]}/{BITS[family]}")
    b.address("eth0", f"{B[family]}/{BITS[family]}")
    return a, b


@case("M21 finding", "a bridge above its port: one alert, which carries the finding", *FAMILIES)
def bridge_above_port(network, family):
    a, _ = bridge_on(network, family, 1500, 9000)
    a.mtu("br0", 9000)
    daemon = start(network, a, config({"b": {"Address": B[family], "ExpectMTU": 9000}},
                                      {"br0": {"ExpectMTU": 9000}}))
    said = wait_finding(daemon, "br0", "member-differs")
    for word in ("br0", "p0", "9000", "1500"):
        assert word in said[2], said
    equal("severity", said[1], "warning")
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=1504,
                     Findings=lambda all_: [f[0] for f in all_] == ["member-differs"])
    alert, = wait_records(daemon, 1, WORSENED, MTUWATCH_PEER="b")
    equal("MTUWATCH_FINDING", alert.get("MTUWATCH_FINDING"), "member-differs")
    assert "explained by this: bridge br0" in alert["MESSAGE"], alert["MESSAGE"]
    daemon.rounds("b", 3, Verdict="black-hole", PathMTU=1504)
    equal("alerts of all kinds", len(daemon.alerts()), 1)
    no_finding_records(daemon)
    # mended: the finding goes by itself, the path recovers
    a.mtu("p0", 9000)
    wait_finding(daemon, "br0")
    consistent(daemon, "b", 9000, Findings=[])
    recovered(daemon, "b")
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="member-differs")
    equal("alerts of all kinds", len(daemon.alerts()), 1)


@case("M21 alone", "a bridge above its port, and nobody to measure: told by itself, and its end too")
def bridge_above_port_alone(network):
    a, _ = bridge_on(network, "ipv4", 1500, 1500)
    a.mtu("br0", 9000)
    daemon = start(network, a, config())
    alert, = wait_records(daemon, 1, APPEARED)
    equal("MTUWATCH_FINDING", alert["MTUWATCH_FINDING"], "member-differs")
    equal("MTUWATCH_LINK", alert["MTUWATCH_LINK"], "br0")
    equal("PRIORITY", alert["PRIORITY"], "4")
    a.mtu("br0", 1500)
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="member-differs", MTUWATCH_LINK="br0")
    a.mtu("br0", 9000)
    wait_records(daemon, 2, APPEARED, MTUWATCH_FINDING="member-differs")
    equal("findings of p0", ids(daemon, "p0"), [])


@case("M21 later", "a finding that was told before its victim came: no second alert", *FAMILIES)
def victim_comes_later(network, family):
    a, _ = bridge_on(network, family, 1500, 9000)
    a.mtu("br0", 9000)
    daemon = start(network, a, config())
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="member-differs")
    daemon.write(config({"b": {"Address": B[family], "ExpectMTU": 9000}}))
    daemon.reload()
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=1504, Severity="critical")
    told, = wait_records(daemon, 1, WORSENED, MTUWATCH_PEER="b")
    equal("PRIORITY", told["PRIORITY"], "5")
    equal("MTUWATCH_FINDING", told["MTUWATCH_FINDING"], "member-differs")
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1504)
    equal("alerts of all kinds", len(daemon.alerts()), 1)


@case("bridge port lowered", "a port lowered under a bridge that was set: its victim is asked at once")
def port_lowered(network):
    a, _ = bridge_on(network, "ipv4", 9000, 9000)
    set_mtu(a, "br0", 9000)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                      Interval="1h"))
    consistent(daemon, "b", 9000)
    a.mtu("p0", 1400)
    wait_finding(daemon, "br0", "member-differs")
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=1404)
    alert, = wait_records(daemon, 1, WORSENED, MTUWATCH_PEER="b")
    equal("MTUWATCH_FINDING", alert["MTUWATCH_FINDING"], "member-differs")
    equal("alerts of all kinds", len(daemon.alerts()), 1)
    no_finding_records(daemon)


@case("M34", "a small port lowers the bridge, and its end raises it again", *FAMILIES)
def small_port(network, family):
    a, _ = bridge_on(network, family, 9000, 9000)
    daemon = start(network, a, config({"b": {"Address": B[family], "ExpectMTU": 9000}},
                                      {"br0": {"ExpectMTU": 9000}}))
    consistent(daemon, "b", 9000)
    a.ip("link add t0 mtu 1500 type veth peer name t1")
    a.ip("link set t0 master br0")
    state = daemon.wait_peer("b", Verdict="misconfigured", PathMTU=1500, LinkMTU=1500,
                             Findings=lambda all_: [f[0] for f in all_] ==
                             ["bridge-lowered-by-port"])
    for word in ("br0", "t0", "1500", "9000"):
        assert word in state["Findings"][0][2], state["Findings"]
    wait_finding(daemon, "br0", "bridge-lowered-by-port")
    change, = wait_records(daemon, 1, CHANGED, MTUWATCH_LINK="br0")
    equal("MESSAGE", change["MESSAGE"], "link br0: MTU 1500, was 9000: t0 became a port of it")
    daemon.rounds("b", 2, Verdict="misconfigured", PathMTU=1500)
    alert, = wait_records(daemon, 1, WORSENED, MTUWATCH_PEER="b")
    equal("MTUWATCH_FINDING", alert["MTUWATCH_FINDING"], "bridge-lowered-by-port")
    assert "t0" in alert["MESSAGE"], alert["MESSAGE"]
    equal("alerts of all kinds", len(daemon.alerts()), 1)
    no_finding_records(daemon)
    a.ip("link delete t0")
    consistent(daemon, "b", 9000, Findings=[])
    recovered(daemon, "b")
    changes = wait_records(daemon, 2, CHANGED, MTUWATCH_LINK="br0")
    equal("MESSAGE", changes[1]["MESSAGE"],
          "link br0: MTU 9000, was 1500: t0 is no longer a port of it")
    never(daemon, "b", "black-hole", "reduced")


@case("M34 two peers", "a lowered bridge and a peer that expects nothing: a notice, no alarm")
def small_port_unexpected(network):
    a, _ = bridge_on(network, "ipv4", 9000, 9000)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    consistent(daemon, "b", 9000)
    a.ip("link add t0 mtu 1500 type veth peer name t1")
    a.ip("link set t0 master br0")
    consistent(daemon, "b", 1500)
    equal("severity", wait_finding(daemon, "br0", "bridge-lowered-by-port")[1], "notice")
    told, = wait_records(daemon, 1, APPEARED)
    equal("PRIORITY", told["PRIORITY"], "5")
    silent(daemon)


@case("bridge set", "a bridge that was set stays, and a port joins below it")
def bridge_set(network):
    a, _ = bridge_on(network, "ipv4", 9000, 9000)
    set_mtu(a, "br0", 9000)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"], "ExpectMTU": 9000}}))
    consistent(daemon, "b", 9000)
    a.ip("link add t0 mtu 1400 type veth peer name t1 mtu 1400")
    a.ip("link set t0 master br0")
    a.up("t0")
    a.up("t1")
    wait_finding(daemon, "br0", "member-differs")
    # this peer is behind the other port
    daemon.rounds("b", 2, Verdict="consistent", PathMTU=9000, Findings=[])
    alert, = wait_records(daemon, 1, APPEARED)
    assert "t0" in alert["MESSAGE"] and "1400" in alert["MESSAGE"], alert["MESSAGE"]
    silent(daemon, "b")
    a.down("t0")
    wait_finding(daemon, "br0")
    wait_records(daemon, 1, GONE, MTUWATCH_LINK="br0")


@case("pair", "a veth whose ends differ, both of them here")
def pair(network):
    a = network.space("A")
    a.ip("link add v0 mtu 9000 type veth peer name v1 mtu 1500")
    a.up("v0")
    a.up("v1")
    daemon = start(network, a, config())
    said = wait_finding(daemon, "v0", "pair-differs")
    for word in ("v0", "v1", "9000", "1500"):
        assert word in said[2], said
    equal("findings of v1", ids(daemon, "v1"), [])
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="pair-differs", MTUWATCH_LINK="v0")
    a.mtu("v1", 9000)
    wait_finding(daemon, "v0")
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="pair-differs")


def tunnel(network, options="", mtu=1500, family="ipv4"):
    """A–R1–B at 1500, and a vxlan between A and B."""
    a, r1, b = routed(network, 1500)
    inner = ("203.0.113.1", "203.0.113.2")
    for space, near, far, address in ((a, A, FAR, inner[0]), (b, FAR, A, inner[1])):
        space.ip(f"link add vx0 type vxlan id 7 local {near[family]} remote {far[family]} "
                 f"dstport 4789 {options}")
        space.mtu("vx0", mtu)
        space.up("vx0")
        space.address("vx0", f"{address}/24")
    return a, r1, b, inner[1]


@case("tunnel", "a vxlan that is too large for the route to its other end",
      "ipv4", "ipv4 df", "ipv6")
def tunnel_too_large(network, variant):
    family, df = variant.split()[0], "df" in variant
    fits = 1450 if family == "ipv4" else 1430
    a, _, _, _ = tunnel(network, "df set" if df else "", family=family)
    daemon = start(network, a, config())
    said = wait_finding(daemon, "vx0", "tunnel-too-large")
    equal("severity", said[1], "notice" if variant == "ipv4" else "warning")
    daemon.wait_link("vx0", Overhead=1500 - fits, UnderlayIndex=daemon.link("eth0")["Index"])
    daemon.wait_link("eth0", Overhead=0, UnderlayIndex=0)
    for word in ("vx0", "eth0", "1500", str(fits), str(1500 - fits)):
        assert word in said[2], said
    assert f"ip link set dev vx0 mtu {fits}" in said[3], said
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="tunnel-too-large")
    a.mtu("vx0", fits + 1)
    wait_finding(daemon, "vx0", "tunnel-too-large")
    a.mtu("vx0", fits)
    wait_finding(daemon, "vx0")
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="tunnel-too-large")
    # the route itself gets smaller, then its link larger
    gateway = {"ipv4": "192.0.2.254", "ipv6": "2001:db8:1::fe"}[family]
    net = {"ipv4": "198.51.100.0/24", "ipv6": "2001:db8:2::/64"}[family]
    a.route(f"replace {net} via {gateway} mtu 1400")
    assert str(fits - 100) in wait_finding(daemon, "vx0", "tunnel-too-large")[2]
    a.route(f"replace {net} via {gateway}" if family == "ipv4" else
            f"replace {net} via {gateway} mtu 1500")
    wait_finding(daemon, "vx0")
    a.mtu("eth0", 1499)
    wait_finding(daemon, "vx0", "tunnel-too-large")


@case("M11 finding", "a tunnel too large, its fragments dropped: one alert with the finding")
def tunnel_explains(network):
    a, r1, _, peer = tunnel(network)
    r1.filter("fragments", ["ip frag-off & 0x1fff != 0 drop"], priority=-450)
    daemon = start(network, a, config({"pod-b": {"Address": peer, "Interface": "vx0"}}))
    daemon.wait_peer("pod-b", PathMTU=1450, Verdict=lambda v: v in ("black-hole", "reduced"),
                     Findings=lambda all_: "tunnel-too-large" in [f[0] for f in all_])
    told = daemon.wait("the verdict", lambda: records(daemon, WORSENED, MTUWATCH_PEER="pod-b"))
    equal("MTUWATCH_FINDING", told[0]["MTUWATCH_FINDING"], "tunnel-too-large")
    daemon.rounds("pod-b", 3, PathMTU=1450)
    no_finding_records(daemon)
    assert len(daemon.alerts()) <= 1, [r["MESSAGE"] for r in daemon.alerts()]


@case("tunnel owner", "a vxlan without another end: its own address tells the link it leaves by")
def tunnel_owner(network):
    a, _ = direct(network, 1500)
    a.ip(f"link add vx0 type vxlan id 7 local {A['ipv4']} dstport 4789")
    a.mtu("vx0", 1500)
    a.up("vx0")
    daemon = start(network, a, config())
    assert "eth0" in wait_finding(daemon, "vx0", "tunnel-too-large")[2]
    a.mtu("eth0", 1550)
    wait_finding(daemon, "vx0")


@case("tunnel unknown", "a vxlan that leads nobody knows where, or where each packet says")
def tunnel_unknown(network):
    a, _ = direct(network, 1500)
    a.ip("link add vx0 type vxlan id 7 dstport 4789")
    a.ip("link add vx1 type vxlan external dstport 4790")
    for name in ("vx0", "vx1"):
        a.mtu(name, 9000)
        a.up(name)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    consistent(daemon, "b", 1500)
    daemon.rounds("b", 2, Verdict="consistent")
    for name in ("vx0", "vx1", "eth0", "lo"):
        equal(f"findings of {name}", ids(daemon, name), [])
    no_finding_records(daemon)


@case("parent lowered", "fifty links lowered with the one they lie on: a few records, not a hundred")
def parent_lowered(network):
    a, _ = direct(network, 9000)
    names = [f"mv{i}" for i in range(50)]
    a.batch([f"link add {name} link eth0 mtu 9000 up type macvlan mode bridge" for name in names])
    daemon = start(network, a, config({}, {"mv*": {"ExpectMTU": 9000}}))
    daemon.wait_link("mv49", MTU=9000, Findings=[])
    a.mtu("eth0", 1500)
    for name in names[:1] + names[-1:]:
        wait_finding(daemon, name, "link-below-expected")
    told = daemon.wait("the finding", lambda: records(daemon, APPEARED))
    assert "eth0" in told[0]["MESSAGE"] and "and 42 more" in told[0]["MESSAGE"], told[0]["MESSAGE"]
    equal("records of findings", len(records(daemon, APPEARED)), 1)
    changes = [r["MESSAGE"] for r in records(daemon, CHANGED)]
    assert len(changes) <= 2 and any("changed together with eth0" in text for text in changes), changes
    # raising the parent does not raise them again
    a.mtu("eth0", 9000)
    daemon.wait_link("eth0", MTU=9000)
    equal("MTU of mv0", daemon.link("mv0")["MTU"], 1500)
    a.batch([f"link set {name} mtu 9000" for name in names])
    for name in names[:1] + names[-1:]:
        wait_finding(daemon, name)
    daemon.wait("the end of the finding", lambda: records(daemon, GONE))
    assert len(records(daemon, GONE)) <= 5, [r["MESSAGE"] for r in records(daemon, GONE)]


@case("many findings", "twenty faults, none like the other: the journal bounded, none left out")
def many_findings(network):
    a = network.space("A")
    a.batch([f"link add v{i} mtu {9000 - i} up type veth peer name w{i} mtu {1500 - i}"
             for i in range(20)])
    a.batch([f"link set w{i} up" for i in range(20)])
    daemon = start(network, a, config())
    rest, = wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="more-findings")
    assert "16 more findings" in rest["MESSAGE"] and "and 8 more" in rest["MESSAGE"], rest["MESSAGE"]
    equal("PRIORITY", rest["PRIORITY"], "4")
    equal("records", len(records(daemon, APPEARED)), 5)
    equal("links with a fault", daemon.manager()["LinksFaulty"], 20)
    a.batch([f"link set v{i} mtu {1500 - i}" for i in range(20)])

    def ends():
        """How many findings the records tell the end of."""
        return sum(int(re.search(r"(\d+) more", r["MESSAGE"]).group(1))
                   if r["MTUWATCH_FINDING"] == "more-findings" else 1
                   for r in records(daemon, GONE))
    daemon.wait("the end of all of them", lambda: ends() >= 20)
    equal("ends", ends(), 20)
    equal("links with a fault", daemon.manager()["LinksFaulty"], 0)


@case("ignored", "a link to be ignored, by a glob, gives no findings")
def ignored(network):
    a = network.space("A")
    a.ip("link add br0 type bridge")
    for name in ("tap0", "tap1"):
        a.ip(f"link add {name} mtu 1400 type veth peer name p{name}")  # 1500
        a.ip(f"link set {name} master br0")
        a.up(name)
        a.up(f"p{name}")
    a.mtu("br0", 9000)
    a.up("br0")
    a.ip("link add v0 mtu 9000 type veth peer name v1 mtu 1500")
    a.up("v0")
    a.up("v1")
    daemon = start(network, a, config({}, {"tap*": {"Ignore": "yes"}, "v?": {"Ignore": "yes"}}))
    for name in ("br0", "tap0", "v0", "v1"):
        equal(f"findings of {name}", ids(daemon, name), [])
    equal("LinksFaulty", daemon.manager()["LinksFaulty"], 0)
    a.mtu("ptap0", 1300)
    daemon.wait_link("ptap0", MTU=1300)
    no_finding_records(daemon)


@case("M39 findings", "strangers of different sizes are nobody's finding")
def strangers(network):
    a, b = direct(network, 1500)
    network.link(a, "stor", b, "stor", 9000)
    network.link(a, "ring", b, "ring", 65520)
    a.ip("link add br0 mtu 1400 type bridge")
    a.up("br0")
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    consistent(daemon, "b", 1500)
    daemon.rounds("b", 2, Verdict="consistent")
    for name in ("lo", "eth0", "stor", "ring", "br0"):
        equal(f"findings of {name}", ids(daemon, name), [])
    no_finding_records(daemon)
    equal("Severity", daemon.manager()["Severity"], "ok")


@case("M38 told", "another link of the same name: the journal says so once")
def replaced(network):
    a, b = direct(network, 9000)
    daemon = start(network, a, config({}, {"eth0": {"ExpectMTU": 9000}}))
    daemon.wait_link("eth0", MTU=9000, Findings=[])
    a.ip("link delete eth0")
    daemon.wait("eth0 gone", lambda: daemon.link("eth0") is None)
    network.link(a, "eth0", b, "eth0", 1500)
    wait_finding(daemon, "eth0", "link-below-expected")
    change, = wait_records(daemon, 1, CHANGED, MTUWATCH_LINK="eth0")
    equal("MESSAGE", change["MESSAGE"],
          "link eth0: MTU 1500, was 9000: it is another link of this name")
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="link-below-expected")
    a.mtu("eth0", 9000)
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="link-below-expected")
    changes = wait_records(daemon, 2, CHANGED, MTUWATCH_LINK="eth0")
    equal("MESSAGE", changes[1]["MESSAGE"], "link eth0: MTU 9000, was 1500")


def advertise(space, device, mtu):
    """One router advertisement (RFC 4861) with nothing but an MTU option."""
    body = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 0, 0, 0) + struct.pack("!BBHI", 5, 1, 0, mtu)
    with space.entered(), socket.socket(socket.AF_INET6, socket.SOCK_RAW,
                                        socket.IPPROTO_ICMPV6) as sock:
        index = socket.if_nametoindex(device)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        sock.sendto(body, ("ff02::1", 0, 0, index))


@case("RA", "an IPv6 MTU that a router advertised, and one by sysctl: kept apart, lost with a change")
def advertised(network):
    a, b = direct(network, 1500)
    b.sysctl("net.ipv6.conf.eth0.accept_ra", 0)  # it hears itself
    daemon = start(network, a, config({"b": {"Address": B["ipv6"]}, "b4": {"Address": B["ipv4"]}}))
    consistent(daemon, "b", 1500)
    consistent(daemon, "b4", 1500)
    advertise(b, "eth0", 1400)
    said = wait_finding(daemon, "eth0", "ipv6-mtu-below-link")
    equal("severity", said[1], "notice")
    assert "1400" in said[2] and "1500" in said[2] and "router advertised" in said[2], said
    consistent(daemon, "b", 1400)
    change, = wait_records(daemon, 1, CHANGED, MTUWATCH_LINK="eth0")
    equal("MESSAGE", change["MESSAGE"],
          "link eth0: IPv6 MTU 1400, was 1500: a router advertised it")
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="ipv6-mtu-below-link")
    # outside of what the kernel takes
    for mtu in (9000, 1279):
        advertise(b, "eth0", mtu)
    daemon.rounds("b", 2, Verdict="consistent", PathMTU=1400)
    # any change of the link's own MTU resets it without a word
    a.mtu("eth0", 1490)
    consistent(daemon, "b", 1490)
    consistent(daemon, "b4", 1490)
    changes = wait_records(daemon, 2, CHANGED, MTUWATCH_LINK="eth0")
    assert "IPv6 MTU of 1400 that was set on it went with that" in changes[1]["MESSAGE"], changes[1]
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="ipv6-mtu-below-link")
    a.sysctl("net/ipv6/conf/eth0/mtu", 1300)
    said = wait_finding(daemon, "eth0", "ipv6-mtu-below-link")
    assert "sysctl" in said[2], said
    consistent(daemon, "b", 1300)
    silent(daemon)


@case("IPv6 lost", "below 1280 the kernel takes IPv6 off a link")
def ipv6_lost(network):
    a, b = direct(network, 1500)
    daemon = start(network, a, config({"b4": {"Address": B["ipv4"]}}))
    consistent(daemon, "b4", 1500)
    a.mtu("eth0", 1280)
    daemon.wait_link("eth0", MTU=1280, Findings=[])
    a.mtu("eth0", 1279)
    said = wait_finding(daemon, "eth0", "ipv6-lost")
    equal("severity", said[1], "warning")
    assert "1279" in said[2] and "1280" in said[2], said
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="ipv6-lost")
    equal("IPv6 addresses", a.ip("-6 address show dev eth0"), "")
    a.mtu("eth0", 1500)
    wait_finding(daemon, "eth0")
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="ipv6-lost")


@case("storm of MTUs", "a thousand changes: a record a second, and the last one is right")
def storm(network):
    a, _ = direct(network, 1500)
    daemon = start(network, a, config({}, {"eth0": {"ExpectMTU": 1500}}))
    daemon.wait_link("eth0", MTU=1500, Findings=[])
    a.batch([f"link set eth0 mtu {1400 + i % 90}" for i in range(1000)] + ["link set eth0 mtu 1450"])
    wait_finding(daemon, "eth0", "link-below-expected")
    daemon.wait("the last change", lambda: [r for r in records(daemon, CHANGED)
                                            if "MTU 1450" in r["MESSAGE"]])
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="link-below-expected")
    first, last = daemon.records[0]["_received"], daemon.records[-1]["_received"]
    told = len(records(daemon, CHANGED))
    assert told <= 2 + (last - first), f"{told} records in {last - first:.1f} s"
