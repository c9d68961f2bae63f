# SPDX-License-Identifier: LGPL-2.1-or-later
"""Stacks of several kinds of links: one fault below is one alert, whatever stands between; and hosts
full of links on which nothing is wrong.
"""

import re
import time

from cases import case, consistent, equal, silent, start
from case_clamp_link import QUICK, begin
from case_connections import Client, Server
from case_stack import (APPEARED, GONE, bridge_on, ids, no_finding_records, records,
                        set_mtu, wait_finding, wait_records)
from daemon import config
from topology import A, B, FAMILIES, direct, limit, switched

INNER = {"A": "203.0.113.1", "B": "203.0.113.2"}


def vxlan(space, near, far, underlay, mtu):
    """A tunnel to the other host; `underlay` None: the route decides."""
    under = f"dev {underlay}" if underlay else ""
    space.ip(f"link add vx0 type vxlan id 7 local {near} remote {far} dstport 4789 {under}")
    space.mtu("vx0", mtu)
    space.up("vx0")


def explained(daemon, peer, finding, size):
    """The verdict carries the finding, and is the only alert."""
    daemon.wait_peer(peer, Verdict="black-hole", PathMTU=size,
                     Findings=lambda all_: finding in [f[0] for f in all_])
    daemon.rounds(peer, 3, Verdict="black-hole", PathMTU=size)
    said = daemon.alerts()
    assert len(said) == 1, [r["MESSAGE"] for r in said]


@case("tower tunnel", "a tunnel over a bridge over a port that is too small",
      "parent", "route", "macvlan")
def tunnel_tower(network, variant):
    a, b = bridge_on(network, "ipv4", 9000, 9000)
    set_mtu(a, "br0", 9000)
    under, near, far = "br0", A["ipv4"], B["ipv4"]
    if variant == "macvlan":
        a.ip("link add mv0 link br0 type macvlan mode bridge")
        a.up("mv0")
        a.ip("address add 192.0.2.11/24 dev mv0")
        a.ip("route add 192.0.2.2/32 dev mv0 src 192.0.2.11")
        under, near = "mv0", "192.0.2.11"
    vxlan(a, near, far, None if variant == "route" else under, 8950)
    vxlan(b, far, near, "eth0", 8950)
    a.address("vx0", f"{INNER['A']}/24")
    b.address("vx0", f"{INNER['B']}/24")
    daemon = start(network, a, config({"pod": {"Address": INNER["B"], "ExpectMTU": 8950}}))
    consistent(daemon, "pod", 8950)
    a.mtu("p0", 1500)
    wait_finding(daemon, "br0", "member-differs")
    explained(daemon, "pod", "member-differs", 1454)
    no_finding_records(daemon)
    a.mtu("p0", 9000)
    consistent(daemon, "pod", 8950, Findings=[])
    wait_records(daemon, 1, GONE, MTUWATCH_FINDING="member-differs")


@case("tower veth", "a veth whose other end is a port of a bridge with a port that is too small",
      *FAMILIES)
def veth_tower(network, family):
    a, b = bridge_on(network, family, 9000, 9000)
    set_mtu(a, "br0", 9000)
    a.ip("link add in0 mtu 9000 type veth peer name out0 mtu 9000")
    a.ip("link set out0 master br0")
    a.up("in0")
    a.up("out0")
    inner = {"ipv4": ("203.0.113.1", "203.0.113.2", 24),
             "ipv6": ("2001:db8:7::1", "2001:db8:7::2", 64)}[family]
    a.address("in0", f"{inner[0]}/{inner[2]}")
    b.address("eth0", f"{inner[1]}/{inner[2]}")
    daemon = start(network, a, config({"b": {"Address": inner[1], "ExpectMTU": 9000}}))
    consistent(daemon, "b", 9000)
    a.mtu("p0", 1500)
    wait_finding(daemon, "br0", "member-differs")
    explained(daemon, "b", "member-differs", 1504)
    no_finding_records(daemon)


@case("tower traffic", "a port lowered in the middle of a transfer: the stall and the finding are one alert",
      *FAMILIES)
def traffic(network, family):
    a, b = bridge_on(network, family, 9000, 9000)
    set_mtu(a, "br0", 9000)
    for space, device in ((a, "p0"), (b, "eth0")):
        space.offloads_off(device)
    a.offloads_off("br0")
    server = Server(network, b, B, 2049, family)
    client = Client(network, a, B, 2049, family)
    client.pump()
    daemon = start(network, a, config({"b": {"Address": B[family], "ExpectMTU": 9000}},
                                      Interval="5min"))
    consistent(daemon, "b", 9000)
    a.mtu("p0", 1500)
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=1504,
                     Findings=lambda all_: {"member-differs", "connections-stalled"} <=
                     {f[0] for f in all_})
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1504)
    equal("alerts", [r["MESSAGE"] for r in daemon.alerts()][1:], [])
    a.mtu("p0", 9000)
    consistent(daemon, "b", 9000, Findings=[])
    equal("alerts", [r["MESSAGE"] for r in daemon.alerts()][1:], [])
    client.close()
    server.close()


@case("containers", "a host of fifty containers, on which nothing is wrong: no finding, no word")
def containers(network):
    a, b = direct(network, 1500)
    a.ip("link add docker0 type bridge forward_delay 0")
    a.ip("link add cni0 mtu 1450 type bridge forward_delay 0")
    a.ip(f"link add flannel.1 type vxlan id 1 local {A['ipv4']} dstport 8472 nolearning dev eth0")
    a.mtu("flannel.1", 1450)
    pods = [network.space(f"P{i}") for i in range(5)]
    lines = []
    for i in range(50):
        mtu, bridge = ((1500, "docker0"), (1450, "cni0"), (1440, None))[i % 3]
        lines += [f"link add veth{i} mtu {mtu} type veth peer name eth{i} mtu {mtu} "
                  f"netns {pods[i % 5].name}", f"link set veth{i} up"]
        if bridge:
            lines.append(f"link set veth{i} master {bridge}")
    for name in ("docker0", "cni0", "flannel.1"):
        lines.append(f"link set {name} up")
    a.batch(lines)
    for i in range(50):
        pods[i % 5].up(f"eth{i}")
    a.address("docker0", "172.17.0.1/16")
    a.address("cni0", "10.244.0.1/24")
    a.route(f"add default via {B['ipv4']}")
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    consistent(daemon, "b", 1500)
    daemon.rounds("b", 2, Verdict="consistent")
    # containers come and go
    for i in (0, 1, 2, 3, 4, 5):
        a.ip(f"link delete veth{i}")
    daemon.wait("veth5 gone", lambda: daemon.link("veth5") is None)
    a.batch([line for line in lines if any(f"veth{i} " in line for i in (0, 1, 2, 3, 4, 5))])
    daemon.wait_link("veth5", Up=True)
    a.ip("link delete cni0")
    daemon.wait("cni0 gone", lambda: daemon.link("cni0") is None)
    daemon.rounds("b", 2, Verdict="consistent")
    silent(daemon)
    no_finding_records(daemon)
    for link in daemon.objects("org.mtuwatch1.Link"):
        equal(f"findings of {link['Name']}", link["Findings"], [])


@case("finding flaps", "a finding that comes and goes all the time is told of more and more seldom")
def flapping(network):
    a = network.space("A")
    a.ip("link add v0 mtu 9000 type veth peer name v1 mtu 1500")
    a.up("v0")
    a.up("v1")
    daemon = start(network, a, config())
    for _ in range(15):
        wait_finding(daemon, "v0", "pair-differs")
        appeared = len(records(daemon, APPEARED))
        try:
            daemon.wait("told", lambda: len(records(daemon, APPEARED)) > appeared, 1.5)
        except AssertionError:
            pass
        a.mtu("v1", 9000)
        wait_finding(daemon, "v0")
        a.mtu("v1", 1500)
    told = [r["MESSAGE"] for r in records(daemon, APPEARED) + records(daemon, GONE)]
    assert len(told) <= 12, told


@case("finding ends", "a finding goes and says so, whatever it is that ends it",
      "deleted", "down", "ignored", "left", "moved", "renamed")
def ends(network, variant):
    a = network.space("A")
    other = network.space("O")
    a.ip("link add p0 mtu 1500 type veth peer name q0 mtu 1500")
    a.ip("link add br0 type bridge forward_delay 0")
    a.batch(["link set p0 master br0", "link set p0 up", "link set q0 up", "link set br0 up",
             "link set br0 mtu 9000"])
    daemon = start(network, a, config())
    wait_records(daemon, 1, APPEARED, MTUWATCH_FINDING="member-differs", MTUWATCH_LINK="br0")
    if variant == "deleted":
        a.ip("link delete br0")
    elif variant == "down":
        a.down("br0")
    elif variant == "ignored":
        daemon.write(config({}, {"br*": {"Ignore": "yes"}}))
        daemon.reload()
    elif variant == "left":
        a.ip("link set p0 nomaster")
    elif variant == "moved":
        a.ip(f"link set p0 netns {other.name}")
    else:
        a.ip("link set br0 name storage0")
        daemon.wait_link("storage0", Findings=lambda all_: all_ and "storage0" in all_[0][2])
        a.mtu("storage0", 1500)
        wait_records(daemon, 1, GONE, MTUWATCH_FINDING="member-differs", MTUWATCH_LINK="storage0")
        equal("appeared", len(records(daemon, APPEARED)), 1)
        return
    gone, = wait_records(daemon, 1, GONE, MTUWATCH_FINDING="member-differs", MTUWATCH_LINK="br0")
    assert int(gone["PRIORITY"]) > 4, gone
    equal("appeared", len(records(daemon, APPEARED)), 1)


@case("clamped tower", "what a clamp of ours did to a link and to what stands on it is no finding")
def clamped_tower(network):
    a, _, trunk = switched(network)
    a.ip("link add mv0 link eth0 type macvlan mode bridge")
    a.up("mv0")
    a.ip("address add 192.0.2.11/24 dev mv0")
    daemon, _ = begin(network, a, config({"b": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                         {"eth0": {"ExpectMTU": 9000}, "mv0": {"ExpectMTU": 9000}},
                                         **{**QUICK, "ClampRetry": "1h"}))
    consistent(daemon, "b", 9000)
    limit(trunk, 1500)
    daemon.wait_link("eth0", MTU=1500, OriginalMTU=9000)
    daemon.wait_link("mv0", MTU=1500)
    daemon.rounds("b", 3, Verdict="black-hole", PathMTU=1500)
    equal("findings of eth0", ids(daemon, "eth0"), [])
    equal("findings of mv0", ids(daemon, "mv0"), [])
    no_finding_records(daemon)
    equal("alerts", [r["MESSAGE"] for r in daemon.alerts("b")][1:], [])


@case("old connection", "links raised under a connection that stays: what it announced once is not the peer's fault")
def old_connection(network):
    a, b = direct(network, 1500)
    Server(network, b, B, 2049)
    client = Client(network, a, B, 2049)
    client.pump()
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    consistent(daemon, "b", 1500, SocketMSS=1448)
    b.mtu("eth0", 9000)
    a.mtu("eth0", 9000)
    consistent(daemon, "b", 9000)
    state = daemon.wait_peer("b", Findings=lambda all_: [f[0] for f in all_] ==
                             ["socket-mss-below-path"])
    said, = state["Findings"]
    equal("severity", said[1], "notice")
    assert "this host announced packets of 1500" in said[2], said
    client.close()
    daemon.wait_peer("b", SocketMSS=0, Findings=[])
    silent(daemon)


@case("two tunnels", "a tunnel in a tunnel over a route that is too small: each is held against what it lies on")
def two_tunnels(network):
    a, b = direct(network, 1500)
    for space, near, far, inner in ((a, A, B, INNER["A"]), (b, B, A, INNER["B"])):
        vxlan(space, near["ipv4"], far["ipv4"], "eth0", 1450)
        space.address("vx0", f"{inner}/24")
        other = INNER["B" if inner == INNER["A"] else "A"]
        space.ip(f"link add vx1 type vxlan id 8 local {inner} remote {other} dstport 4790 dev vx0")
        space.mtu("vx1", 1400)
        space.up("vx1")
    a.address("vx1", "198.18.0.1/24")
    b.address("vx1", "198.18.0.2/24")
    daemon = start(network, a, config({"deep": {"Address": "198.18.0.2"}}))
    consistent(daemon, "deep", 1400)
    for name in ("eth0", "vx0", "vx1"):
        equal(f"findings of {name}", ids(daemon, name), [])
    a.mtu("vx0", 1430)
    said = wait_finding(daemon, "vx1", "tunnel-too-large")
    assert "vx0" in said[2] and "1380" in said[2], said
    equal("findings of vx0", ids(daemon, "vx0"), [])


def wakeups(daemon):
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", file.read()).group(1))


@case("idle", "with nothing to ask for an hour it sleeps")
def idle(network):
    a, _ = direct(network, 9000)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="1h"))
    consistent(daemon, "b", 9000)
    begun = time.monotonic()
    counts = []

    def watched():
        # asking the daemon would wake it
        if time.monotonic() - begun > 10 and not counts:
            counts.append(wakeups(daemon))
        return time.monotonic() - begun > 50
    daemon.wait("50 s", watched, 60)
    woken = wakeups(daemon) - counts[0]
    assert woken <= 4, woken
