# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many at once: peers within a small budget, and links that change without end."""

import time

from cases import case
from daemon import Daemon, config
from topology import B, direct, limit, switched

PEERS = 30


@case("small budget", "many faults at once: the first is told before all of them are found")
def small_budget(network):
    a, b, s1 = switched(network)
    b.batch([f"address add 192.0.2.{10 + i}/24 dev eth0" for i in range(PEERS)])
    daemon = Daemon(network, a, config(
        {f"p{i}": {"Address": f"192.0.2.{10 + i}"} for i in range(PEERS)},
        Interval="10s", ProbeBandwidth="1M"))
    daemon.wait("every peer good", lambda: len(daemon.peers()) == PEERS and all(
        p["Verdict"] == "consistent" for p in daemon.peers().values()), deadline=60)
    limit(s1, 1500)
    began = time.monotonic()
    told = daemon.wait("every alarm", lambda: len(alarms(daemon)) == PEERS and alarms(daemon),
                       deadline=200)
    times = sorted(record["_received"] - began for record in told.values())
    assert times[0] < times[-1] / 2, f"the first after {times[0]:.1f} s, the last {times[-1]:.1f} s"
    assert all(r["MTUWATCH_PATH_MTU"] == "1500" for r in told.values())


def alarms(daemon):
    return {r["MTUWATCH_PEER"]: r for r in daemon.told(MTUWATCH_VERDICT="black-hole")}


@case("restless link", "a link's MTU that changes without end is told seldom, and at last as it is")
def restless_link(network):
    a, _ = direct(network, 9000)
    a.ip("link add v0 mtu 1500 type veth peer name w0 mtu 1500")
    daemon = Daemon(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="1h"))
    daemon.wait_peer("b", Verdict="consistent")
    begin, until = time.monotonic(), time.monotonic() + 3
    changes = 0
    while time.monotonic() < until:
        a.batch([f"link set v0 mtu {1300 + i % 2}" for i in range(200)])
        changes += 200
    a.ip("link set v0 mtu 1400")
    daemon.wait_link("v0", MTU=1400)
    last = daemon.wait("the last MTU told", lambda: daemon.told(
        MTUWATCH_LINK="v0", MTUWATCH_LINK_MTU=1400))[-1]
    told = daemon.told(MTUWATCH_LINK="v0")
    # at once, after 1 s, 2 s, 4 s
    assert 1 <= len(told) <= 2 + (last["_received"] - begin) , f"{len(told)} of {changes} changes"
    assert told[-1]["MTUWATCH_LINK_MTU"] == "1400", told[-1]["MESSAGE"]
