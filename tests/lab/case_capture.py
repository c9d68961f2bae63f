# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same proof by somebody else's eyes: what tshark saw on the wire against what is claimed."""

import os
import re
import shutil
import signal
import subprocess

from cases import black_hole, case, consistent, equal, responder, start
from daemon import config
from lab import Skip
from topology import B, FAMILIES, limit, switched

FIELDS = ("frame.time_relative", "ip.len", "ip.flags.df", "ip.frag_offset", "ip.flags.mf", "ipv6.plen",
          "ipv6.fraghdr.nxt", "icmp.type", "icmpv6.type", "tcp.flags", "udp.dstport")
BUDGET = 2_000_000  # bits per second
CREDIT = 10 * 9000  # bytes that may leave ahead of it: one burst


class Capture:
    """What a device sends to one address, from before the daemon starts."""

    def __init__(self, network, space, device, address):
        if not shutil.which("tshark") or not shutil.which("dumpcap"):
            raise Skip("no tshark on this machine")
        self.file = os.path.join(network.directory, "wire.pcapng")
        self.process = subprocess.Popen(
            space.command("dumpcap", "-q", "-B", "64", "-s", "128", "-i", device, "-w", self.file,
                          "-f", f"(ip or ip6) and dst host {address}"),
            stderr=subprocess.PIPE, text=True)
        network.stack.callback(self.process.wait)
        network.stack.callback(self.process.kill)
        for line in self.process.stderr:  # it says so once it captures
            if line.startswith("File:"):
                return
        raise AssertionError("dumpcap did not start")

    def stop(self):
        """All that it saw, by tshark's own reading. It must have missed nothing."""
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=30)[1]
        dropped = re.search(r"received/dropped on interface [^:]*: (\d+)/(\d+)", said)
        assert dropped and dropped.group(2) == "0", said
        words = ["tshark", "-n", "-r", self.file, "-T", "fields", "-E", "separator=;",
                 "-E", "occurrence=f"]
        for field in FIELDS:
            words += ["-e", field]
        out = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120).stdout
        return [dict(zip(FIELDS, line.split(";"))) for line in out.splitlines()]


def size_of(packet):
    return int(packet["ip.len"]) if packet["ip.len"] else 40 + int(packet["ipv6.plen"])


def is_set(value):
    return value in ("1", "True")


def is_probe(packet):
    flags = int(packet["tcp.flags"] or "0", 16)
    return (packet["icmp.type"] == "8" or packet["icmpv6.type"] == "128"
            or packet["udp.dstport"] != "" or flags & 0x17 == 0x02)  # SYN alone


def within_budget(packets):
    """In no stretch of a second more than the budget and a burst."""
    first = total = 0
    for packet in packets:
        total += size_of(packet)
        while float(packets[first]["frame.time_relative"]) < float(packet["frame.time_relative"]) - 1:
            total -= size_of(packets[first])
            first += 1
        assert total <= BUDGET // 8 + CREDIT, f"{total} bytes within a second"


@case("capture", "tshark saw as many probes as are counted, whole, with DF, within link and budget",
      *(f"{family} {method}" for family in FAMILIES for method in ("auto", "icmp", "tcp", "responder")))
def capture(network, variant):
    family, method = variant.split()
    a, b, s1 = switched(network)
    if method == "responder":
        responder(network, b)
    seen = Capture(network, a, "eth0", B[family])
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": method}},
                                      ProbeBandwidth=BUDGET, Interval="10min"))
    consistent(daemon, "b", 9000)
    limit(s1, 1443)
    # a result less than a second old is answered as it is
    daemon.wait("a round that sees it", lambda: daemon.check("b")["Verdict"] == "black-hole")
    if method == "icmp":
        daemon.wait_peer("b", Verdict="black-hole", PathMTU=1443)
    else:
        black_hole(daemon, "b", 1443)
    daemon.check("b")  # answers when no round is under way; the next one is minutes off
    counted = daemon.peer("b")["ProbesSent"]
    packets = seen.stop()
    equal("probes on the wire", sum(is_probe(p) for p in packets), counted)
    assert all(is_set(p["ip.flags.df"]) for p in packets if p["ip.len"]), "a packet without DF"
    pieces = [p for p in packets if is_set(p["ip.flags.mf"]) or p["ip.frag_offset"] not in ("", "0")
              or p["ipv6.fraghdr.nxt"]]
    equal("fragments", pieces, [])
    equal("largest packet", max(size_of(p) for p in packets), 9000)
    within_budget(packets)
