# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is around the daemon gives way: descriptors, disks, clocks, its own time. It is never wrong of
it, and goes on when it is over."""

import os
import signal
import socket
import struct
import time

from cases import black_hole, case, consistent, equal, silent, start
from daemon import config
from lab import LabError, Skip, run
from topology import A, B, direct, limit, switched
from trouble import Preloaded
from wire import Sniffer

FULL = "FAULTS" in os.environ  # ./run test --faults
DAY = 86400


def with_words(daemon, *words):
    """The daemon as this command starts it."""
    plain = daemon.shell

    def shell(*arguments):
        line = plain(*arguments)
        at = line.index("sh", 6)
        return line[:at + 1] + list(words) + line[at + 1:]
    daemon.shell = shell


@case("descriptors", "thousands of peers and 32 descriptors: they take turns, and are all judged rightly")
def descriptors(lab):
    count, methods = (4096, 8) if FULL else (600, 6)
    a, b, _ = switched(lab)
    b.ip("route add local 10.20.0.0/20 dev lo")
    a.route(f"add 10.20.0.0/20 via {B['ipv4']}")
    b.sysctl("net.ipv4.icmp_ratelimit", 0)
    b.filter("holes", ["ip daddr 10.20.0.0/28 meta length > 1500 drop"])
    peers = {}
    for i in range(count):
        method = {0: "tcp", 1: "icmp"}.get(i % methods, "auto") if i != 20 else "udp"
        port = {"Port": 3260} if method in ("tcp", "udp") else {}
        peers[f"p{i}"] = {"Address": f"10.20.{i // 256}.{i % 256}", "Method": method, **port}
    daemon = start(lab, a, config(peers, Interval="20s"), start=False)
    with_words(daemon, "prlimit", "--nofile=32:32")
    daemon.start()

    def right():
        all_peers = daemon.peers()
        return len(all_peers) == count and all(
            one["Verdict"] == ("black-hole" if int(name[1:]) < 16 else "consistent")
            for name, one in all_peers.items())
    daemon.wait("the true verdicts", right, 200 if FULL else 120)
    wrong = [r["MESSAGE"] for r in daemon.alerts() if r.get("MTUWATCH_VERDICT") != "black-hole"]
    equal("wrong verdicts", wrong, [])
    print(f"{count} peers, 32 descriptors: 16 black holes and {count - 16} consistent, 0 wrong")


@case("full disk", "no room for the metrics, then there is some; and a read-only /run")
def full_disk(lab):
    a, _, s1 = switched(lab)
    folder = os.path.join(lab.directory, "small")
    os.mkdir(folder)
    run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", folder])
    lab.stack.callback(run, ["umount", "-l", folder])
    path = os.path.join(folder, "metrics.prom")
    daemon = start(lab, a, config({"b": {"Address": B["ipv4"]}}, MetricsFile=path), start=False)
    plain = daemon.shell

    def shell(*arguments):
        line = plain(*arguments)
        at = next(i for i, word in enumerate(line) if word.endswith('exec "$@"'))
        line[at] = line[at].replace('exec "$@"', 'mount -o remount,ro /run && exec "$@"')
        return line
    daemon.shell = shell
    daemon.start()
    consistent(daemon, "b", 9000)
    said = daemon.wait("the complaint", lambda: [r for r in daemon.records
                                                 if "No space left" in r["MESSAGE"]])
    assert path in said[0]["MESSAGE"], said
    limit(s1, 1500)
    black_hole(daemon, "b", 1500)
    equal("complaints", len([r for r in daemon.records if "No space left" in r["MESSAGE"]]), 1)
    # an older one at most, and whole
    assert set(os.listdir(folder)) <= {"metrics.prom"}, os.listdir(folder)
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            assert file.read().endswith("\n"), name
    run(["mount", "-o", "remount,size=1m", folder])

    def written():
        if not os.path.exists(path):
            return False
        with open(path, encoding="utf-8") as file:
            return 'verdict="black-hole"} 1\n' in file.read()
    daemon.wait("the metrics", written)


@case("clock", "the wall clock a day ahead, and a day back: nothing is told of it, and rounds go on")
def clock(lab):
    a, _, s1 = switched(lab)
    preloaded = Preloaded(lab)
    daemon = start(lab, a, config({"b": {"Address": B["ipv4"]}, "six": {"Address": B["ipv6"]}}),
                   variables=preloaded.variables())
    limit(s1, 1500)
    for name in ("b", "six"):
        black_hole(daemon, name, 1500)
    for ahead in (DAY, -DAY, 0):
        preloaded.set(clock_sec=ahead)
        state = daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1500)
        wrong = abs(state["LastRoundUSec"] / 1e6 - time.time() - ahead)
        assert wrong < 60, f"its last round is {wrong} s off a clock that is {ahead} s ahead"
    equal("alerts", [len(daemon.alerts(name)) for name in ("b", "six")], [1, 1])
    preloaded.set(clock_sec=-DAY)
    s1.mtu("trunk", 9000)
    for name in ("b", "six"):
        consistent(daemon, name, 9000)


@case("uptime", "on a host that was booted just now, and on one that runs for ten years", "0", "3650")
def uptime(lab, days):
    a, _, s1 = switched(lab)
    daemon = start(lab, a, config({"b": {"Address": B["ipv4"]}, "six": {"Address": B["ipv6"]}}),
                   start=False)
    offset = int(days) * DAY or -int(time.clock_gettime(time.CLOCK_MONOTONIC))
    words = ["unshare", "--time", "--monotonic", str(offset), "--boottime", str(offset)]
    try:
        run([*words, "true"])
    except (LabError, OSError) as error:
        raise Skip(f"needs time namespaces: {error}") from None
    with_words(daemon, *words)
    daemon.start()
    for name in ("b", "six"):
        consistent(daemon, name, 9000)
    limit(s1, 1500)
    for name in ("b", "six"):
        black_hole(daemon, name, 1500)
    s1.mtu("trunk", 9000)
    for name in ("b", "six"):
        consistent(daemon, name, 9000)


def storm(space, count):
    """Echo replies of nobody's questions, as large as they may be."""
    echo = struct.pack("!BBHHH", 0, 0, 0, 7, 7) + bytes(8000)
    total = sum(struct.unpack(f"!{len(echo) // 2}H", echo))
    total = (total & 0xffff) + (total >> 16)
    echo = echo[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + echo[4:]
    with space.entered():
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with sock:
        for _ in range(count):
            sock.sendto(echo, (A["ipv4"], 0))


@case("stopped in a storm", "stopped while foreign answers fill its sockets, and suspended: no verdict of it")
def stopped(lab):
    a, b = direct(lab, 9000)
    preloaded = Preloaded(lab)
    daemon = start(lab, a, config({name: {"Address": B["ipv4"], "Method": name}
                                   for name in ("icmp", "tcp", "auto")}),
                   variables=preloaded.variables())
    sniffer = Sniffer(lab, a, "eth0")
    for name in ("icmp", "tcp", "auto"):
        consistent(daemon, name, 9000)
    for turn in range(3):
        count = len(sniffer.requests())
        daemon.wait("probes", lambda: len(sniffer.requests()) > count)  # pylint: disable=W0640
        daemon.signal(signal.SIGSTOP)
        long = 60 if FULL else 2
        until = time.monotonic() + long
        storm(b, 4000)  # its buffer holds about a thousand
        preloaded.set(clock_sec=turn * 8 * 3600)
        daemon.wait("the standstill", lambda: time.monotonic() > until, 2 * long)  # pylint: disable=W0640
        daemon.signal(signal.SIGCONT)
        for name in ("icmp", "tcp", "auto"):
            daemon.rounds(name, 2, Verdict="consistent", PathMTU=9000)
    equal("verdicts", [daemon.verdicts(name) for name in ("icmp", "tcp", "auto")], [[], [], []])
    silent(daemon)
