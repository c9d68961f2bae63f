#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Figures beside the floor and beside what people use today. Prints tables, asserts nothing.

usage: bench.py [clean] [report] [hole] [event] [many] [holes] [scale] [steady] [idle] [storm] [routes] [host]     none: all
Needs the daemon, `relay` and `limit` in build/ (BUILD_DIR= elsewhere), and ping, fping, scamper,
tracepath, blackbox_exporter where they are to be compared.
"""

import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lab"))
sys.dont_write_bytecode = True

import lab  # noqa: E402
from daemon import Daemon, config, end  # noqa: E402
from today import child_cpu, crowd_tools, sent_packets, tools  # noqa: E402
from topology import A, B, FAR, FAR_R, R1, both, direct, limit, switched  # noqa: E402
from wire import ECHO_REPLY, Sniffer, echo  # noqa: E402

BUILD = os.environ.get("BUILD_DIR", os.path.join(ROOT, "build"))
DELAY_USEC = 10000
HOLES = (1280, 1400, 1443, 1450, 1492, 1500, 4321, 8951)


def tool(name):
    path = os.path.join(BUILD, "tests", "bench", name)
    return path if os.access(path, os.X_OK) else None


def heading(text):
    print(f"\n## {text}\n", flush=True)


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table(*titles):
    row(*titles)
    row(*("---" for _ in titles))


def msec(seconds):
    return "–" if seconds is None else f"{seconds * 1e3:.1f} ms"


def median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


# networks

def relayed(network, behind):
    """A, then a cable of 10 ms each way, then a switch or a router, then B at 9000."""
    relay = tool("relay")
    if not relay:
        raise lab.Skip("relay is not built")
    a, cable, b = network.space("A"), network.space("D"), network.space("B")
    cable.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
    network.link(a, "eth0", cable, "d0", 9000)
    middle = (network.switch("S1") if behind == "switch" else network.space("R1", router=True))
    network.link(cable, "d1", middle, "near", 9000)
    if behind == "switch":
        other = network.switch("S2")
        network.link(middle, "trunk", other, "trunk", 9000)
        network.link(other, "pb", b, "eth0", 9000)
        b.address("eth0", *both(B))
    else:
        network.link(middle, "far", b, "eth0", 1500)
        middle.address("near", *both(R1))
        middle.address("far", *both(FAR_R))
        b.address("eth0", *both(FAR))
        b.route(f"add default via {FAR_R['ipv4']}")
    a.address("eth0", *both(A))
    if behind == "router":
        a.route(f"add default via {R1['ipv4']}")
    process = subprocess.Popen(cable.command(relay, "d0", "d1", str(DELAY_USEC)),
                               stdout=subprocess.PIPE, text=True)
    network.stack.callback(end, process)
    process.stdout.readline()
    echo(a, B["ipv4"] if behind == "switch" else FAR["ipv4"], 100)  # neighbours are known
    return a, b, middle


def tool_rows(space, address, size):
    for name, figures in tools(space, address, size, slow=True):
        if figures:
            row(name, msec(figures[0]), figures[1], figures[2])
        else:
            row(name, "not installed", "", "")


# one peer

class Watched:
    """One daemon for one peer, and what it did, in seconds from its first probe."""

    def __init__(self, network, space, address, **keys):
        self.sniffer = Sniffer(network, space, "eth0")
        self.address = address
        self.daemon = Daemon(network, space, config({"b": {"Address": address}},
                                                    **{"Interval": "10min", **keys}))

    def first(self):
        return self.sniffer.requests(self.address)[0].time

    def record(self, verdict):
        return self.daemon.wait(f"record {verdict}",
                                lambda: self.daemon.told("b", MTUWATCH_VERDICT=verdict))[0]

    def packets(self, until):
        return len([p for p in self.sniffer.requests(self.address) if p.time <= until])

    def known(self, size):
        """When `size` was answered and size + 1 had had the time to be."""
        answered = [p.time for p in self.sniffer.packets
                    if p.kind == ECHO_REPLY[p.version] and not p.outgoing and p.size == size]
        asked = [p.time for p in self.sniffer.requests(self.address) if p.size == size + 1]
        if not answered or not asked:
            return None
        return max(answered[0], asked[0] + 2 * DELAY_USEC / 1e6) - self.first()

    def rounds(self):
        """(seconds from the first probe to the last answer, packets) of each burst of probes."""
        groups = []
        for packet in list(self.sniffer.packets):
            if packet.kind not in (0, 8, 128, 129):
                continue
            if not groups or packet.time - groups[-1][-1].time > 0.2:
                groups.append([])
            groups[-1].append(packet)
        return [(g[-1].time - g[0].time, len([p for p in g if p.outgoing])) for g in groups]


def clean():
    heading("one clean peer, 9000 bytes, no delay and 20 ms RTT")
    table("who", "a round", "packets", "says")
    with lab.Lab() as network:
        a, _ = direct(network, 9000)
        echo(a, B["ipv4"], 100)
        watched = Watched(network, a, B["ipv4"], Interval="1s")
        watched.daemon.wait_peer("b", Verdict="consistent")
        watched.daemon.rounds("b", 10)
        rounds = watched.rounds()[1:]
        row("mtuwatchd", msec(median(r[0] for r in rounds)), median(r[1] for r in rounds),
            watched.daemon.peer("b")["PathMTU"])
        watched.daemon.stop()
        tool_rows(a, B["ipv4"], 9000)
        begin = time.monotonic()
        echo(a, B["ipv4"], 9000)
        row("floor: one echo", msec(time.monotonic() - begin), 1, "")
    with lab.Lab() as network:
        a, _, _ = relayed(network, "switch")
        watched = Watched(network, a, B["ipv4"], Interval="1s")
        watched.daemon.wait_peer("b", Verdict="consistent")
        watched.daemon.rounds("b", 10)
        rounds = watched.rounds()[1:]
        row("mtuwatchd, 20 ms RTT", msec(median(r[0] for r in rounds)),
            median(r[1] for r in rounds), watched.daemon.peer("b")["PathMTU"])


def report():
    heading("an honest router at 1500, 20 ms RTT")
    table("who", "number known", "packets", "says")
    with lab.Lab() as network:
        a, _, _ = relayed(network, "router")
        watched = Watched(network, a, FAR["ipv4"])
        told = watched.record("reduced")
        probes = watched.sniffer.requests(FAR["ipv4"])
        answered = [p.time for p in watched.sniffer.packets
                    if p.kind == 0 and not p.outgoing and p.size == 1500]
        known = answered[0] if answered else None
        row("mtuwatchd", msec(known and known - watched.first()),
            watched.packets(known) if known else "–", told.get("MTUWATCH_PATH_MTU"))
        row("mtuwatchd, announced", msec(told["_received"] - watched.first()),
            watched.packets(told["_received"]), told.get("MTUWATCH_PATH_MTU"))
        sizes = [p.size for p in probes]
        watched.daemon.stop()
        tool_rows(a, FAR["ipv4"], 9000)
        print(f"\nsizes asked: {sizes}")


def hole():
    heading("a silent hole, 20 ms RTT")
    table("who", "hole", "number known", "announced", "packets", "says")
    for size in HOLES:
        with lab.Lab() as network:
            a, _, s1 = relayed(network, "switch")
            limit(s1, size)
            watched = Watched(network, a, B["ipv4"])
            told = watched.record("black-hole")
            row("mtuwatchd", size, msec(watched.known(size)),
                msec(told["_received"] - watched.first()), watched.packets(told["_received"]),
                told.get("MTUWATCH_PATH_MTU"))
            watched.daemon.stop()
            if size not in (1280, 1443, 8951):
                continue
            for name, figures in tools(a, B["ipv4"], 9000, slow=size == 1443):
                if figures:
                    row(name, size, "", msec(figures[0]), figures[1], figures[2])


def event():
    heading("a link's MTU changes, then the fresh verdict of its peer")
    table("change", "median", "worst", "beside the RTT")
    for name, delay in (("no delay", 0), ("20 ms RTT", 2 * DELAY_USEC / 1e6)):
        with lab.Lab() as network:
            a = (relayed(network, "switch") if delay else direct(network, 9000))[0]
            watched = Watched(network, a, B["ipv4"])
            daemon = watched.daemon
            daemon.wait_peer("b", Verdict="consistent", PathMTU=9000)
            times = []
            for number in range(10):
                mtu = 9000 if number % 2 else 1500
                begin = time.monotonic()
                a.mtu("eth0", mtu)
                daemon.wait_peer("b", PathMTU=mtu, Verdict="consistent")
                changed = [s["_received"] for s in daemon.signals
                           if s["member"] == "PropertiesChanged" and s["_received"] > begin
                           and s["data"][1].get("PathMTU") == mtu]
                times.append((changed[0] if changed else time.monotonic()) - begin)
                daemon.rounds("b", 0)
            row(f"9000 to 1500 and back, {name}", msec(median(times)), msec(max(times)),
                msec(median(times) - delay))


# many peers

def cpu_seconds(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        peak = int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        pss = int(re.search(r"Pss:\s+(\d+)", file.read()).group(1))
    return peak, pss


def addresses(count):
    return [f"10.{99 + (i >> 16)}.{i >> 8 & 255}.{i & 255}" for i in range(1, count + 1)]


def crowd_behind(a, b, count):
    """So many addresses that B answers for."""
    for network in range(99, 100 + (count >> 16)):
        b.ip(f"route add local 10.{network}.0.0/16 dev lo")
        a.ip(f"route add 10.{network}.0.0/16 via {B['ipv4']}")
    echo(a, "10.99.0.1", 9000)
    return addresses(count)


def crowd(network, count):
    a, b = direct(network, 9000)
    return a, b, crowd_behind(a, b, count)


def right(daemon, size):
    """What was told of holes of this size, by peer."""
    return {r["MTUWATCH_PEER"]: r for r in daemon.told(MTUWATCH_VERDICT="black-hole",
                                                       MTUWATCH_PATH_MTU=size)}.values()


def crowd_text(peers, **keys):
    return config({f"p{i}": {"Address": address} for i, address in enumerate(peers)},
                  **{"ProbeBandwidth": "10G", **keys})


def crowd_daemon(network, space, peers, **keys):
    daemon = Daemon(network, space, crowd_text(peers, **keys))
    daemon.wait("every peer good", lambda: daemon.manager() and len(
        [p for p in daemon.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", "ListPeers")
         if p[2] == "consistent"]) == len(peers), deadline=120)
    return daemon


def settled(daemon, space, seconds):
    """CPU and packets over a stretch of ordinary work, nobody asking anything meanwhile."""
    pid = daemon.process.pid
    begin, cpu, packets = time.monotonic(), cpu_seconds(pid), sent_packets(space)
    time.sleep(seconds)
    return cpu_seconds(pid) - cpu, sent_packets(space) - packets, time.monotonic() - begin


def crowd_row(name, figures, count):
    if not figures:
        row(name, "not installed", "", "", "", "")
        return
    cpu, wall, packets, bad = figures
    row(name, msec(wall), f"{cpu / count * 1e6:.2f} µs", f"{packets / count:.2f}",
        f"{cpu / max(packets, 1) * 1e6:.2f} µs", bad)


def many(count=10000):
    heading(f"{count} clean peers, one round, 9000 bytes")
    table("who", "wall", "CPU a peer", "packets a peer", "CPU a packet", "called bad")
    floors = []
    with lab.Lab() as network:
        a, _, peers = crowd(network, count)
        floor = tool("limit")
        if floor:
            # a round is a control and a full-size probe
            for size in ("9000", "68"):
                cpu, wall, done = child_cpu(a.command(floor, peers[0], str(count), size))
                floors.append(cpu / count)
                answered = re.search(r"answered (\d+)", done.stdout)
                row(f"floor: limit, {size} bytes", msec(wall), f"{cpu / count * 1e6:.2f} µs", 1,
                    f"{cpu / count * 1e6:.2f} µs",
                    count - int(answered.group(1)) if answered else done.stderr.strip())
        else:
            row("floor: limit", "not built", "", "", "", "")
        for name, figures in crowd_tools(a, peers, 9000):
            crowd_row(name, figures, count)
        daemon = crowd_daemon(network, a, peers, Interval="10s")
        begin_alerts = len(daemon.alerts())
        settled(daemon, a, 15)
        cpu, packets, wall = settled(daemon, a, 30)
        rounds = wall / 10
        row("mtuwatchd, Interval=10s", "spread", f"{cpu / rounds / count * 1e6:.2f} µs",
            f"{packets / rounds / count:.2f}", f"{cpu / packets * 1e6:.2f} µs",
            len(daemon.alerts()) - begin_alerts)
        if floors:
            print(f"\n{cpu / packets / statistics.mean(floors):.2f} x limit for the same packets "
                  "(target 1.5)")
        peak, pss = memory(daemon.process.pid)
        print(f"memory with {count} peers on the bus: peak {peak / 1024:.1f} MB, "
              f"PSS {pss / 1024:.1f} MB")
    with lab.Lab() as network:
        a, _, peers = crowd(network, count)
        daemon = Daemon(network, a, crowd_text(peers, Interval="10s"), bus=False)
        daemon.wait("the start", lambda: daemon.told(PRIORITY=6), deadline=60)
        settled(daemon, a, 25)
        peak, pss = memory(daemon.process.pid)
        print(f"memory with {count} peers, no bus: peak {peak / 1024:.1f} MB, "
              f"PSS {pss / 1024:.1f} MB")


# from ten peers to a hundred thousand

def cpu_of(pid, action):
    """What the daemon's CPU and the wall say of it, and what it returned."""
    cpu, begin = cpu_seconds(pid), time.monotonic()
    result = action()
    return cpu_seconds(pid) - cpu, time.monotonic() - begin, result


def reloaded(daemon):
    before = len(daemon.told(PRIORITY=6))
    daemon.signal(signal.SIGHUP)
    daemon.wait("the reload", lambda: [r for r in daemon.told(PRIORITY=6)[before:]
                                       if "reloaded" in r["MESSAGE"]], deadline=120)


def whole_file(path):
    """Waits for the next whole file."""
    before = os.stat(path).st_mtime_ns if os.path.exists(path) else 0
    while not os.path.exists(path) or os.stat(path).st_mtime_ns == before:
        time.sleep(0.05)
    return os.path.getsize(path)


def described(daemon):
    """Bytes of the answer, None where a message of D-Bus cannot hold it."""
    done = subprocess.run(["busctl", f"--address={daemon.bus.address}", "--timeout=120", "call",
                           "org.mtuwatch1", "/org/mtuwatch1", "org.mtuwatch1.Manager", "Describe"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return len(done.stdout) if done.returncode == 0 else None


def scale_row(count):
    seconds = max(30, count // 1000)
    with lab.Lab() as network:
        a, _, peers = crowd(network, count)
        metrics = os.path.join(network.directory, "mtuwatchd.prom")
        every = {"Interval": f"{seconds}s"}
        daemon = Daemon(network, a, crowd_text(peers, **every))
        daemon.wait("the start", lambda: daemon.told(PRIORITY=6), deadline=120)
        pid = daemon.process.pid
        start = cpu_seconds(pid)
        daemon.wait("every peer good", lambda: (daemon.manager() or {}).get("Verdict") ==
                    "consistent", deadline=300)
        settled(daemon, a, 5)
        cpu, _, wall = settled(daemon, a, seconds)
        peak, pss = memory(pid)
        reload_cpu, reload_wall, _ = cpu_of(pid, lambda: reloaded(daemon))
        text_cpu, text_wall, text = cpu_of(pid, lambda: described(daemon))
        daemon.write(crowd_text(peers, MetricsFile=metrics, **every))
        file_cpu, _, _ = cpu_of(pid, lambda: reloaded(daemon))
        more, _, size = cpu_of(pid, lambda: whole_file(metrics))
        # some rounds fall into the time that the file takes; reading it again costs what it did before
        file_cpu = max(file_cpu + more - reload_cpu, 0)
        row(count, f"{start * 1e3:.0f} ms", f"{cpu / wall * seconds / count * 1e6:.1f} µs",
            f"{pss / 1024:.1f} MB", f"{peak / 1024:.1f} MB",
            f"{reload_cpu * 1e3:.0f} ms, {msec(reload_wall)}",
            f"{text_cpu * 1e3:.0f} ms, {msec(text_wall)}, {text / 1e6:.1f} MB" if text else
            f"{text_cpu * 1e3:.0f} ms, too large for D-Bus",
            f"{file_cpu * 1e3:.0f} ms, {size / 1e6:.1f} MB", f"{memory(pid)[1] / 1024:.1f} MB")


def scale(*counts):
    heading("from ten peers to a hundred thousand, all good, on the bus and with a metrics file")
    table("peers", "start, CPU", "a round, CPU a peer", "memory PSS", "peak", "reload",
          "Describe", "metrics file", "PSS afterwards")
    for count in counts or (10, 1000, 10000, 100000):
        scale_row(count)


def scamper_row(space, peers):
    """Its CPU and packets for the same peers, all traced at once."""
    if not shutil.which("scamper"):
        row("scamper -w1", "not installed", "", "", "", "")
        return
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("\n".join(peers) + "\n")
        file.flush()
        before = sent_packets(space)
        cpu, wall, _ = child_cpu(space.command(
            "scamper", "-O", "warts", "-o", "/dev/null", "-p", "10000", "-w", str(len(peers)), "-c",
            "trace -M -w 1", "-f", file.name))
        packets = sent_packets(space) - before
    row("scamper -w1", msec(wall), f"{cpu / len(peers) * 1e6:.1f} µs",
        f"{packets / len(peers):.2f}", f"{cpu / max(packets, 1) * 1e6:.2f} µs", "not checked")


def holes_until(daemon, space, peers, size, after):
    """From the start until each number is told; FailAfter=1 is one round, with its confirmation."""
    daemon.records.clear()
    packets, begin = sent_packets(space), time.monotonic()
    daemon.start()
    pid = daemon.process.pid
    daemon.wait("all numbers", lambda: len(daemon.records) >= len(peers) and
                len(right(daemon, size)) >= len(peers), deadline=120)
    told = right(daemon, size)
    wall = max(r["_received"] for r in told) - begin
    cpu, packets = cpu_seconds(pid), sent_packets(space) - packets
    row(f"mtuwatchd, FailAfter={after}", msec(wall), f"{cpu / len(peers) * 1e6:.1f} µs",
        f"{packets / len(peers):.2f}", f"{cpu / packets * 1e6:.2f} µs",
        f"{len([r for r in told if r['MTUWATCH_CONFIRMED'] == 'yes'])} of {len(peers)}, confirmed")


def round_again(daemon, space, count, seconds):
    """Rounds of holes that are known already."""
    cpu, packets, wall = settled(daemon, space, seconds)
    rounds = wall / 10
    row("mtuwatchd, a round of a known hole", "spread",
        f"{cpu / rounds / count * 1e6:.1f} µs", f"{packets / rounds / count:.2f}",
        f"{cpu / packets * 1e6:.2f} µs", "")


def holes(count=10000, size=1500):
    heading(f"{count} silent holes of {size} bytes, from the start to the last number")
    table("who", "wall", "CPU a peer", "packets a peer", "CPU a packet", "right")
    with lab.Lab() as network:
        a, b, s1 = switched(network)
        peers = crowd_behind(a, b, count)
        floor = tool("limit")
        for asked in ("9000", "68") if floor else ():
            cpu, wall, _ = child_cpu(a.command(floor, peers[0], str(count), asked))
            row(f"floor: limit, {asked} bytes, no hole", msec(wall), f"{cpu / count * 1e6:.1f} µs", 1,
                f"{cpu / count * 1e6:.2f} µs", "")
        limit(s1, size)
        scamper_row(a, peers)
        daemon = Daemon(network, a, crowd_text(peers, Interval="10min", FailAfter=1), bus=False,
                        start=False)
        for after in (1, 2):
            daemon.write(crowd_text(peers, Interval="10min" if after == 1 else "10s",
                                    FailAfter=after))
            holes_until(daemon, a, peers, size, after)
            peak, pss = memory(daemon.process.pid)
            print(f"memory: peak {peak / 1024:.1f} MB, PSS {pss / 1024:.1f} MB")
            if after == 1:
                daemon.stop()
        time.sleep(15)
        round_again(daemon, a, count, 30)


def steady():
    heading("steady state: 1000 peers every 10 s")
    table("who", "CPU", "packets a second")
    with lab.Lab() as network:
        a, _, peers = crowd(network, 1000)
        daemon = crowd_daemon(network, a, peers, Interval="10s")
        settled(daemon, a, 10)
        cpu, packets, wall = settled(daemon, a, 30)
        row("mtuwatchd", f"{cpu / wall * 100:.3f} % of a core", f"{packets / wall:.0f}")


def wakeups(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"\nvoluntary_ctxt_switches:\s+(\d+)", file.read()).group(1))


def idle():
    heading("idle, nothing due")
    table("who", "wakeups in 20 s", "memory")
    with lab.Lab() as network:
        a, _ = direct(network, 9000)
        daemon = Daemon(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="1h"))
        daemon.wait_peer("b", Verdict="consistent")
        time.sleep(5)
        before = wakeups(daemon.process.pid)
        time.sleep(20)
        peak, pss = memory(daemon.process.pid)
        row("mtuwatchd", wakeups(daemon.process.pid) - before,
            f"peak {peak / 1024:.1f} MB, PSS {pss / 1024:.1f} MB")


# netlink

def many_links(network, count):
    """A with one peer, and so many further links."""
    a, _ = direct(network, 9000)
    a.batch([f"link add v{i} mtu 1500 type veth peer name w{i} mtu 1500" for i in range(count // 2)])
    a.batch([f"link set {side}{i} up" for i in range(count // 2) for side in "vw"])
    return a


def batch_file(network, lines):
    path = os.path.join(network.directory, "batch")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    return path


def links_right(daemon, wanted):
    now = {entry[0]: entry[1] for entry in
           daemon.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", "ListLinks")}
    return all(now.get(name) == mtu for name, mtu in wanted.items())


def storm_run(network, daemon, space, count, events, paused):
    """So many changes of MTUs; then how long until the daemon says what is."""
    lines = [f"link set v{i % (count // 2)} mtu {1300 + i % 199}" for i in range(events)]
    wanted = {}
    for line in lines:
        words = line.split()
        wanted[words[2]] = int(words[4])
    path, pid = batch_file(network, lines), daemon.process.pid
    records, cpu = len(daemon.records), cpu_seconds(pid)
    rounds = daemon.peer("b")["Rounds"]
    if paused:
        daemon.signal(signal.SIGSTOP)
    begin = time.monotonic()
    lab.run(["ip", "-n", space.name, "-batch", path], timeout=600)
    end_of_storm = time.monotonic()
    if paused:
        daemon.signal(signal.SIGCONT)
    asked = time.monotonic()
    links_right(daemon, {})
    asked = time.monotonic() - asked
    while not links_right(daemon, wanted):
        pass
    after = time.monotonic() - end_of_storm
    row("paused meanwhile" if paused else "awake", f"{end_of_storm - begin:.2f} s", msec(after),
        msec(asked), f"{(cpu_seconds(pid) - cpu) / events * 1e6:.1f} µs",
        len(daemon.records) - records, daemon.peer("b")["Rounds"] - rounds)


def storm(count=500, events=100000):
    heading(f"{events} events on {count} links, 8 MB of netlink buffer hold 3,640 (target 100 ms)")
    table("daemon", "storm", "right after", "of that one question", "CPU an event", "log lines",
          "rounds of the peer")
    with lab.Lab() as network:
        a = many_links(network, count)
        daemon = Daemon(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="10s"))
        daemon.wait_peer("b", Verdict="consistent")
        for paused in (False, True):
            storm_run(network, daemon, a, count, events, paused)


def routes(count=1000, route_count=100000):
    heading(f"one link event, {count} links, {route_count} routes")
    table("event", "CPU", "memory PSS")
    with lab.Lab() as network:
        a = many_links(network, count)
        a.ip("-batch " + batch_file(network, [
            f"route add 10.{i >> 16}.{i >> 8 & 255}.{i & 255} via {B['ipv4']}"
            for i in range(route_count)]))
        daemon = Daemon(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="1h",
                                           Discover="gateways"))
        daemon.wait_peer("b", Verdict="consistent")
        pid = daemon.process.pid
        row("the start", f"{cpu_seconds(pid) * 1e3:.1f} ms", f"{memory(pid)[1] / 1024:.1f} MB")
        for what in ("link set v7 mtu 1400", "link set v7 down", "route add 192.0.2.77 dev eth0"):
            time.sleep(3)
            cpu = cpu_seconds(pid)
            a.ip(what)
            time.sleep(2)
            row(what, f"{(cpu_seconds(pid) - cpu) * 1e3:.2f} ms", f"{memory(pid)[1] / 1024:.1f} MB")


CONNECTIONS = """
import ctypes, os, socket, sys
libc = ctypes.CDLL(None)
def inside(name):
    with open(f"/run/netns/{name}") as file:
        libc.setns(file.fileno(), 0x40000000)
a, b, address, port, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
inside(b)
server = socket.create_server((address, port), backlog=512)
inside(a)
opened = []
for _ in range(count):
    opened += [socket.create_connection((address, port)), server.accept()[0]]
print("open", flush=True)
sys.stdin.read()
"""


def connections(network, a, b, count):
    """So many live TCP connections from A to B, to ports of storage; a share in each process."""
    limit_ = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    share = min(2500, (limit_ - 50) // 2)
    ports = iter((2049, 3260, 4420, 445, 24007, *range(6800, 7568)))
    for first in range(0, count, share):
        process = subprocess.Popen(
            ["prlimit", f"--nofile={limit_}", sys.executable, "-c", CONNECTIONS, a.name, b.name,
             B["ipv4"], str(next(ports)), str(min(share, count - first))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        network.stack.callback(end, process)
        assert process.stdout.readline() == "open\n", "connections"


def look_over(pid):
    """Right after a look at the connections: five seconds to the next."""
    before = cpu_seconds(pid)
    while True:
        time.sleep(0.05)
        now = cpu_seconds(pid)
        if now - before > 0.005:
            break
        before = now
    time.sleep(0.5)
    return cpu_seconds(pid) - before


def host_row(daemon, a, what, action):
    """What an event costs between two looks."""
    pid = daemon.process.pid
    costs = []
    for undo in (False, True, False):
        look_over(pid)
        cpu = cpu_seconds(pid)
        action(undo)
        time.sleep(2)
        costs.append(cpu_seconds(pid) - cpu)
    peak, pss = memory(pid)
    row(what, f"{statistics.median(costs) * 1e3:.2f} ms", f"{pss / 1024:.1f} MB",
        f"{peak / 1024:.1f} MB")


def host(links=1000, route_count=100000, connection_count=10000):
    heading(f"{connection_count} connections, {links} links and {route_count} routes")
    table("event", "CPU", "memory PSS", "peak")
    with lab.Lab() as network:
        a = many_links(network, links)
        a.ip("-batch " + batch_file(network, [
            f"route add 10.{i >> 16}.{i >> 8 & 255}.{i & 255} via {B['ipv4']}"
            for i in range(route_count)]))
        a.route(f"add default via {B['ipv4']}")
        connections(network, a, network.spaces["B"], connection_count)
        daemon = Daemon(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="10min",
                                           Discover="gateways storage"))
        daemon.wait_peer("b", Verdict="consistent")
        pid = daemon.process.pid
        peak, pss = memory(pid)
        row("the start", f"{cpu_seconds(pid) * 1e3:.1f} ms", f"{pss / 1024:.1f} MB",
            f"{peak / 1024:.1f} MB")
        look = statistics.median(look_over(pid) for _ in range(5))
        row("a look at all connections", f"{look * 1e3:.1f} ms",
            f"{memory(pid)[1] / 1024:.1f} MB", f"{memory(pid)[0] / 1024:.1f} MB")
        inside = ["nsenter", "-t", str(pid), "-m"]
        host_row(daemon, a, "one link's MTU",
                 lambda undo: a.ip(f"link set v7 mtu {1500 if undo else 1400}"))
        host_row(daemon, a, "one link down",
                 lambda undo: a.ip(f"link set v7 {'up' if undo else 'down'}"))
        host_row(daemon, a, "one route",
                 lambda undo: a.ip(f"route {'del' if undo else 'add'} 192.0.2.77 dev eth0"))
        host_row(daemon, a, "a default route: gateways are looked for", lambda undo: a.ip(
            f"route {'del' if undo else 'add'} default via {B['ipv4']} metric 77"))
        host_row(daemon, a, "a mount that is no storage", lambda undo: subprocess.run(
            inside + (["umount", "/mnt"] if undo else ["mount", "-t", "tmpfs", "tmpfs", "/mnt"]),
            check=True))
        host_row(daemon, a, "a reload: gateways and storage are looked for",
                 lambda _: daemon.signal(signal.SIGHUP))
        host_row(daemon, a, "500 links' MTU at once", lambda undo: a.batch(
            [f"link set v{i} mtu {1500 if undo else 1450}" for i in range(links // 2)]))


ALL = {f.__name__: f for f in (clean, report, hole, event, many, holes, scale, steady, idle, storm, routes,
                              host)}


def main():
    chosen = sys.argv[1:] or list(ALL)
    if set(chosen) - set(ALL):
        print(__doc__, file=sys.stderr)
        return 64
    for name in chosen:
        try:
            ALL[name]()
        except (AssertionError, lab.LabError, lab.Skip) as error:
            print(f"\n{name}: no figure: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
