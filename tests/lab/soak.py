#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One daemon for a long time against everything that is no MTU fault and may look like one.

usage: soak.py [--minutes N] [--seed N]     prints the count of rounds and the memory, fails on a
                                            false verdict, on what a sanitizer finds, and on
                                            memory that grows
"""

import argparse
import heapq
import os
import random
import select
import signal
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from cases import case, never, no_echo, only_echo, responder, start  # noqa: E402
from daemon import config  # noqa: E402
from lab import Lab, Skip  # noqa: E402
from run import healthy_end  # noqa: E402
from topology import A, BITS, FAMILIES, R1, both  # noqa: E402

FALSE = ("black-hole", "reduced", "partial")
OUTGOING = 4  # PACKET_OUTGOING
# the hosts behind the router, and what is wrong with the way to each
HOSTS = ("loss", "bursts", "reorder", "limited", "mortal", "filtered", "worse")
PEERS = {  # name: host, and its settings
    "loss": ("loss", {}),
    "loss-tcp": ("loss", {"Method": "tcp"}),
    "loss-flows": ("loss", {"Method": "tcp", "Flows": 4}),
    "loss-responder": ("loss", {"Method": "responder"}),
    "bursts": ("bursts", {}),
    "bursts-tcp": ("bursts", {"Method": "tcp"}),
    "reorder": ("reorder", {}),
    "reorder-tcp": ("reorder", {"Method": "tcp", "Flows": 2}),
    "reorder-responder": ("reorder", {"Method": "responder"}),
    "limited": ("limited", {}),
    "mortal": ("mortal", {}),
    "mortal-tcp": ("mortal", {"Method": "tcp"}),
    "filtered": ("filtered", {}),
    "filtered-icmp": ("filtered", {"Method": "icmp"}),
    "worse": ("worse", {}),
}


class Relay:
    """A switch of its own kind: it holds every frame back for a while, each for another one."""

    def __init__(self, lab, space, left, right, longest=0.03):
        self.longest = longest
        self.ending = threading.Event()
        self.ends = [self._open(space, left), self._open(space, right)]
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        lab.stack.callback(self.close)

    @staticmethod
    def _open(space, device):
        with space.entered():
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            sock.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
            sock.bind((device, 3))
        return sock

    def _run(self):
        held, number = [], 0
        while not self.ending.is_set():
            wait = max(0, held[0][0] - time.monotonic()) if held else 0.2
            for sock in select.select(self.ends, [], [], wait)[0]:
                frame, address = sock.recvfrom(1 << 16)
                if address[2] != OUTGOING:
                    number += 1
                    due = time.monotonic() + random.uniform(0, self.longest)
                    heapq.heappush(held, (due, number, sock is self.ends[0], frame))
            while held and held[0][0] <= time.monotonic():
                _, _, from_left, frame = heapq.heappop(held)
                try:
                    self.ends[1 if from_left else 0].send(frame)
                except OSError:  # the other end is down: lost, as on any cable
                    pass

    def close(self):
        self.ending.set()
        self.thread.join(5)
        for sock in self.ends:
            sock.close()


def place(number, family, host):
    return f"10.9.{number}.{host}" if family == "ipv4" else f"2001:db8:9{number}::{host}"


def address_of(name, family):
    return place(HOSTS.index(PEERS[name][0]) + 1, family, 2)


def build(lab):
    """A–R1, and every host behind R1 on a link of its own, all at 9000."""
    a, r1 = lab.space("A"), lab.space("R1", router=True)
    lab.link(a, "eth0", r1, "near", 9000)
    a.address("eth0", *both(A))
    r1.address("near", *both(R1))
    hosts = {}
    for number, role in enumerate(HOSTS, 1):
        host = hosts[role] = lab.space(role)
        mtu = 1500 if role == "limited" else 9000
        if role == "reorder":
            between = lab.space("relay")
            between.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
            lab.link(r1, role, between, "left", mtu)
            lab.link(between, "right", host, "eth0", mtu)
            Relay(lab, between, "left", "right")
        else:
            lab.link(r1, role, host, "eth0", mtu)
        for family in FAMILIES:
            r1.address(role, f"{place(number, family, 1)}/{BITS[family]}")
            host.address("eth0", f"{place(number, family, 2)}/{BITS[family]}")
            host.route(f"add default via {place(number, family, 1)}")
    for family in FAMILIES:
        a.route(f"add default via {R1[family]}")
    return a, r1, hosts


def impair(r1, hosts):
    early = -310
    hosts["loss"].filter("loss", ["numgen random mod 100 < 30 drop"], priority=early)
    # a dozen in a row, then thirty that get through
    hosts["bursts"].filter("bursts", ["numgen inc mod 42 < 12 drop"], priority=early)
    hosts["worse"].filter("loss", ["numgen random mod 100 < 20 drop"], priority=early)
    rate = "limit rate over 1/second burst 1 packets drop"
    r1.filter("limited", [f"icmp type destination-unreachable icmp code frag-needed {rate}",
                          f"icmpv6 type packet-too-big {rate}"], hook="output", priority=0)


class Weather:
    """What comes and goes: a dead peer, an echo filter, and a host with both."""

    def __init__(self, hosts):
        self.states = {}
        self.switches = {
            "mortal": (lambda: self.dead(hosts["mortal"]), lambda: self.alive(hosts["mortal"])),
            "filtered": (lambda: no_echo(hosts["filtered"]),
                         lambda: hosts["filtered"].unfilter("no_echo")),
            "worse": (lambda: no_echo(hosts["worse"]), lambda: hosts["worse"].unfilter("no_echo")),
            "reorder": (lambda: only_echo(hosts["reorder"]),
                        lambda: hosts["reorder"].unfilter("only_echo")),
        }

    @staticmethod
    def dead(host):
        host.filter("dead", ["meta l4proto { tcp, udp } drop",
                             "icmp type echo-request drop", "icmpv6 type echo-request drop"])

    @staticmethod
    def alive(host):
        host.unfilter("dead")

    def change(self, dice):
        name = dice.choice(sorted(self.switches))
        on = self.states[name] = not self.states.get(name)
        self.switches[name][0 if on else 1]()


def judge(daemon, families):
    """No verdict that was announced so far is false."""
    for name, (host, _) in PEERS.items():
        for family in families:
            if host == "limited":
                never(daemon, f"{name}-{family}", "black-hole", "partial", "consistent", "lossy")
            else:
                never(daemon, f"{name}-{family}", *FALSE)


def memory(daemon):
    """What is resident of it, in kB."""
    with open(f"/proc/{daemon.process.pid}/status", encoding="ascii") as text:
        return next(int(line.split()[1]) for line in text if line.startswith("VmRSS"))


def flat(used):
    """The second half of the time takes what the first one took, but for what the allocator keeps."""
    half = len(used) // 2
    before, after = max(used[:half]), max(used[half:])
    told = f"memory {min(used)} to {before} kB in the first half, {min(used[half:])} to {after} after"
    assert after <= before * 1.1, f"it grows: {told}"
    return told


def live(daemon, weather, seconds, dice, families, used):
    """Lets it run, changes the weather after every few rounds. Returns the rounds of all peers."""
    until = time.monotonic() + seconds
    pacer = f"mortal-{families[0]}"
    while time.monotonic() < until:
        daemon.rounds(pacer, dice.randrange(2, 5), deadline=90)
        judge(daemon, families)
        used.append(memory(daemon))
        for state in daemon.peers().values():
            wrong = FALSE if not state["Name"].startswith("limited") else ("black-hole", "partial")
            assert state["Verdict"] not in wrong, state
        weather.change(dice)
    return sum(state["Rounds"] for state in daemon.peers().values())


def soak(network, seconds, families, seed, used):
    a, r1, hosts = build(network)
    impair(r1, hosts)
    for role in ("loss", "reorder"):
        responder(network, hosts[role])
    peers = {f"{name}-{family}": {"Address": address_of(name, family), **settings}
             for name, (_, settings) in PEERS.items() for family in families}
    # what was given back is kept by the sanitizer to be watched: not so much of it
    daemon = start(network, a, config(peers, Interval="1s"),
                   variables={"ASAN_OPTIONS": "quarantine_size_mb=4"})
    rounds = live(daemon, Weather(hosts), seconds, random.Random(seed), families, used)
    for name in ("limited",):
        for family in families:
            daemon.wait_peer(f"{name}-{family}", Verdict="reduced", PathMTU=1500)
    return rounds


@case("soak", "twenty seconds of bad weather without a false verdict", *FAMILIES)
def short_soak(network, family):
    print(f"{soak(network, 20, (family,), os.getpid(), [])} rounds")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print(f"seed {options.seed}", flush=True)
    used = []
    try:
        with Lab("soak") as network:
            network.daemons = []
            try:
                rounds = soak(network, options.minutes * 60, FAMILIES, options.seed, used)
                for daemon in network.daemons:
                    healthy_end(daemon)
            except (Exception, KeyboardInterrupt):
                for daemon in network.daemons:
                    print("\n".join(daemon.diagnosis()))
                raise
            print(f"{rounds} rounds of {2 * len(PEERS)} peers in {options.minutes:g} minutes: "
                  f"no false verdict, a clean end; {flat(used)}")
    except Skip as reason:
        print(f"skipped: {reason}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
