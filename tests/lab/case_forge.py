# SPDX-License-Identifier: LGPL-2.1-or-later
"""An attacker who does not see our probes, in the segment or far from it: what he sends moves nothing.

FORGE_REPORTS and FORGE_ANSWERS say how many packets he sends in all, in FORGE_BURSTS bursts;
forge.py sends millions.
"""

import collections
import contextlib
import json
import os
import subprocess
import tempfile
import time

from case_clamp import Transfer, clamps
from cases import black_hole, case, consistent, equal, responder, start
from daemon import BINARY, config
from lab import Skip, run
from topology import A, FAMILIES, FAR, FAR_R, R1, both, net
from wire import ICMP, UDP, Sniffer, is_probe

REPORTS = int(os.environ.get("FORGE_REPORTS", 20000))
ANSWERS = int(os.environ.get("FORGE_ANSWERS", 200000))
BURSTS = int(os.environ.get("FORGE_BURSTS", 1))
FORGER = os.path.abspath(os.path.join(os.path.dirname(BINARY), "..", "tests", "lab", "forger"))
MALLORY = {"ipv4": "192.0.2.66", "ipv6": "2001:db8:1::66"}
OUTSIDE = {"ipv4": "203.0.113.66", "ipv6": "2001:db8:66::66"}
OUTSIDE_R = {"ipv4": "203.0.113.254", "ipv6": "2001:db8:66::fe"}
HOLE = {"ipv4": "198.51.100.3", "ipv6": "2001:db8:2::3"}
HOLE_MTU = 1400
KINDS = {"auto": (FAR, {}), "tcp": (FAR, {"Method": "tcp", "Port": 5001}),
         "udp": (FAR, {"Method": "udp"}), "responder": (FAR, {"Method": "responder"}),
         "flows": (FAR, {"Method": "tcp", "Port": 5001, "Flows": 4}), "hole": (HOLE, {})}


class Scene:
    """A, a router and the attacker on one switch; behind the router two peers and another attacker."""

    def __init__(self, network):
        self.network = network
        self.a, self.b, self.hole = (network.space(x) for x in ("A", "B", "H"))
        self.near, self.far = network.space("M"), network.space("X")
        self.switch, self.r1 = network.switch("S1"), network.space("R1", router=True)
        for space, device, port in ((self.a, "eth0", "pa"), (self.r1, "near", "pr"),
                                    (self.near, "eth0", "pm")):
            network.link(space, device, self.switch, port)
        behind = network.switch("S2")
        for space, device, port in ((self.r1, "far", "pr"), (self.b, "eth0", "pb"),
                                    (self.hole, "eth0", "ph")):
            network.link(space, device, behind, port)
        network.link(self.r1, "out", self.far, "eth0")
        for space, device, addresses in (
                (self.a, "eth0", A), (self.near, "eth0", MALLORY), (self.r1, "near", R1),
                (self.r1, "far", FAR_R), (self.r1, "out", OUTSIDE_R), (self.b, "eth0", FAR),
                (self.hole, "eth0", HOLE), (self.far, "eth0", OUTSIDE)):
            space.address(device, *both(addresses))
        for family in FAMILIES:
            self.a.route(f"add default via {R1[family]}")
            for space in (self.b, self.hole):
                space.route(f"add default via {FAR_R[family]}")
            self.far.route(f"add {net(A[family])} via {OUTSIDE_R[family]}")
        for key in ("all", "default"):
            self.r1.sysctl(f"net.ipv4.conf.{key}.rp_filter", 0)
            self.a.sysctl(f"net.ipv4.conf.{key}.rp_filter", 0)
        self.r1.sysctl("net.ipv4.conf.out.rp_filter", 0)
        # who is never heard of and who never answers
        self.hole.drop_above(HOLE_MTU, "eth0")

    def attack(self, where, family, kind, count, packets, meanwhile=lambda: None, names=(), to=None):
        """One flood; how many packets came to the host that is meant, and in what time."""
        space = self.near if where == "segment" else self.far
        via = (self.a.hardware_address("eth0") if where == "segment"
               else self.r1.hardware_address("out"))
        target = self.b if to else self.a
        before = packets_of(target, "rx")
        with tempfile.TemporaryFile("w+") as text:
            text.writelines(one.hex() + "\n" for one in packets)
            text.seek(0)
            with subprocess.Popen(space.command(FORGER, "eth0", via.hex(":"), to or A[family], kind,
                                                str(count), *names), stdin=text, text=True,
                                  stdout=subprocess.PIPE) as forger:
                while forger.poll() is None:
                    meanwhile()
                said = forger.stdout.read()
        equal("the end of the forger", forger.returncode, 0)
        return packets_of(target, "rx") - before, float(said.split()[1])


def counted(space):
    link, = json.loads(run(["ip", "-n", space.name, "-s", "-j", "link", "show", "eth0"]))
    return link["stats64"]


def packets_of(space, way):
    return counted(space)[way]["packets"]


def cpu_seconds(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def cache(space):
    """What the kernel was told of IPv4 destinations: address and MTU."""
    text = run(["ip", "-n", space.name, "-j", "-4", "route", "show", "cache"])
    return sorted((one["dst"], one["metrics"][0]["mtu"]) for one in json.loads(text or "[]")
                  if one.get("metrics"))


def cache_flush(space):
    for family in ("-4", "-6"):
        run(["ip", "-n", space.name, family, "route", "flush", "cache"])


def peers():
    return {f"{name}-{family}": {"Address": at[family], **keys,
                                 **({"Clamp": "route"} if name == "hole" else {})}
            for name, (at, keys) in KINDS.items() for family in FAMILIES}


def probes_and_answers(daemon, sniffer):
    """Packets of ours and to us, by family: of every kind of probe some."""
    daemon.rounds_of(list(peers()), 2, 60)
    sniffer.close()
    packets = list(sniffer.packets)
    found = {}
    for family, version in (("ipv4", 4), ("ipv6", 6)):
        ours = [p for p in packets if p.outgoing and p.version == version and is_probe(p)
                and p.to in (FAR[family], HOLE[family])]
        answers = [p for p in packets if not p.outgoing and p.version == version
                   and p.source in (FAR[family], HOLE[family]) and not is_transfer(p)]
        found[family] = ours[-300:], answers[-300:]
    return found


def is_transfer(packet):
    """A segment of the live connection; of it only the beginning and the end are SYN or RST."""
    return packet.flags is not None and not packet.flags & 6


def bytes_of(packets):
    return [packet.bytes for packet in packets]


def replies_as_probes(probes):
    """Echoes in the quotes as if we had answered: these the kernel always believes about IPv4."""
    return [p.bytes[:20] + bytes([0]) + p.bytes[21:] for p in probes if p.protocol == ICMP]


class Asking:
    """Asks the daemon without end, while something else happens; how long the longest answer took."""

    def __init__(self, daemon):
        self.daemon, self.longest, self.asked = daemon, 0.0, 0

    def __call__(self):
        began = time.monotonic()
        self.daemon.manager()
        self.asked += 1
        self.longest = max(self.longest, time.monotonic() - began)

    def told(self):
        return f"{self.asked} calls meanwhile, the longest {self.longest * 1000:.0f} ms"


def names_of(family):
    """In whose name reports are forged: our own, the peers', the router's, a stranger's."""
    return [A[family], FAR[family], HOLE[family], R1[family], OUTSIDE[family]]


def flood(scene, found, reports, answers, asking):
    """All kinds of it from both places; how many of them came."""
    came = collections.Counter()
    for where in ("segment", "away"):
        for family in FAMILIES:
            probes, heard = found[family]
            for kind, count, packets, names in (
                    ("reports", reports // 4, bytes_of(probes), names_of(family)),
                    ("answers", answers // 4, bytes_of(probes), ()),
                    ("replays", reports // 4, bytes_of(heard), ())):
                came[kind] += scene.attack(where, family, kind, count, packets, asking, names)[0]
    return came


def numbers(daemon):
    """What must not move."""
    kept = ("Verdict", "PathMTU", "ReturnMTU", "ExpectedMTU", "Direction", "Locus", "Router",
            "Confirmed", "ClampMTU", "ClampKind", "FlowsFaulty")
    return {name: {key: state[key] for key in kept} for name, state in daemon.peers().items()}


def unmoved(daemon, before):
    after = numbers(daemon)
    for name, state in before.items():
        equal(name, after[name], state)


def begin(network, scene):
    """The daemon, and every verdict as it is to stay."""
    responder(network, scene.b)
    daemon = start(network, scene.a, config(peers(), {"*": {"Clamp": "link"}}, ClampAfter=1))
    for name in peers():
        if name.startswith("hole"):
            black_hole(daemon, name, HOLE_MTU, ClampMTU=HOLE_MTU)
        else:
            consistent(daemon, name, 1500)
    return daemon


def said_about_kernel(record):
    """IPv6 believes what is forged, whoever runs here, and that the kernel does so is told truly."""
    return record.get("MTUWATCH_FINDING") == "cached-pmtu-stale"


def told_since(daemon, records, signals):
    """What was said above debug, of reports that were not believed, and verdicts."""
    new = [r for r in daemon.records[records:]]
    return ([r["MESSAGE"] for r in new if int(r["PRIORITY"]) < 7 and not said_about_kernel(r)],
            [r["MESSAGE"] for r in new if "ignored a report" in r["MESSAGE"]],
            [s["data"][:4] for s in daemon.signals[signals:] if s["member"] == "VerdictChanged"])


def loud(daemon):
    daemon.bus.busctl("set-property", "org.mtuwatch1", "/org/freedesktop/LogControl1",
                      "org.freedesktop.LogControl1", "LogLevel", "s", "debug")


def needs_forger():
    if not os.access(FORGER, os.X_OK):
        raise Skip(f"needs {FORGER}")


@case("forge", "a flood of forged reports, answers and replays: no verdict, number or clamp moves")
def forged(network):
    needs_forger()
    scene = Scene(network)
    transfer = Transfer(network, scene.a, scene.b, FAR["ipv4"])
    sniffer = Sniffer(network, scene.a, "eth0")
    daemon = begin(network, scene)
    found = probes_and_answers(daemon, sniffer)
    # what quotes a probe that is still under way cannot be told from a router's own report
    daemon.rounds_of(list(peers()), 2, 90)
    loud(daemon)
    before, put_on, segment = numbers(daemon), clamps(scene.a), transfer.segment()
    signals, records = len(daemon.signals), len(daemon.records)
    began, cpu, asking = time.monotonic(), cpu_seconds(daemon.process.pid), Asking(daemon)
    came = collections.Counter()
    for _ in range(BURSTS):
        came += flood(scene, found, REPORTS // BURSTS, ANSWERS // BURSTS, asking)
        unmoved(daemon, before)
        daemon.rounds_of(list(peers()), 3, 90)
        unmoved(daemon, before)
    seconds = time.monotonic() - began
    others, ignored, verdicts = told_since(daemon, records, signals)
    print(f"{dict(came)} came in {seconds:.0f} s; the daemon used "
          f"{cpu_seconds(daemon.process.pid) - cpu:.2f} s of CPU, counted "
          f"{daemon.describe()['ReportsIgnored']} reports and told of {len(ignored)}; {asking.told()}")
    equal("verdicts told", verdicts, [])
    equal("other records", others, [])
    assert len(ignored) <= 1 + seconds / 60, ignored
    equal("clamps", clamps(scene.a), put_on)
    equal("MTUs in the kernel's cache", cache(scene.a), [])
    equal("MSS of the transfer", transfer.segment(), segment)
    daemon.wait("the transfer flows", transfer.flows)


@case("forge cache", "the kernel believes no forged report that it would not believe without us")
def forge_cache(network):
    needs_forger()
    scene = Scene(network)
    sniffer = Sniffer(network, scene.a, "eth0")
    daemon = begin(network, scene)
    found, _ = probes_and_answers(daemon, sniffer)["ipv4"]
    # what it always believes: a quote of an echo reply that this host might have sent
    quotes = bytes_of(found) + replies_as_probes(found)
    held = []
    for running in (True, False):
        if not running:
            daemon.stop()
        cache_flush(scene.a)
        for packets in (quotes, bytes_of(found)):
            for where in ("segment", "away"):
                scene.attack(where, "ipv4", "reports", REPORTS // 4, packets,
                             names=names_of("ipv4"))
            held.append(cache(scene.a))
            cache_flush(scene.a)
    print(f"with it {held[0]}, without {held[2]}")
    assert held[2], "nothing was believed at all"
    equal("the cache with the daemon", held[:2], held[2:])


@case("forge responder", "a responder sends nobody more than came in his name", *FAMILIES)
def forge_responder(network, family):
    needs_forger()
    scene = Scene(network)
    daemon = responder(network, scene.b)
    with contextlib.closing(Sniffer(network, scene.a, "eth0")) as sniffer:
        asker = start(network, scene.a, config({"b": {"Address": FAR[family],
                                                      "Method": "responder"}}))
        consistent(asker, "b", 1500)
    asked = bytes_of(p for p in sniffer.packets if p.outgoing and p.protocol == UDP)
    equal("the end of the asker", asker.stop(), 0)
    before, cpu = counted(scene.b), cpu_seconds(daemon.process.pid)
    came, seconds = scene.attack("away", family, "questions", REPORTS, asked,
                                 names=[A[family], R1[family], OUTSIDE[family]], to=FAR[family])
    cpu = cpu_seconds(daemon.process.pid) - cpu
    after = counted(scene.b)
    bytes_in, bytes_out = (after[way]["bytes"] - before[way]["bytes"] for way in ("rx", "tx"))
    print(f"{came} questions of {bytes_in} bytes in {seconds:.2f} s, {bytes_out} bytes back, "
          f"{cpu:.2f} s of CPU")
    assert bytes_out < bytes_in, "it sends more than it gets"
    # and it is there for who asks honestly
    asker.start()
    consistent(asker, "b", 1500)
