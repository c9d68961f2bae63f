# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where one witness alone would be wrong, and who tries to be a false one."""

import contextlib
import socket
import struct
import threading

from cases import (black_hole, case, consistent, equal, findings, holds, never, no_echo,
                   no_large_echo, one_alert, only_echo, responder, silent, start)
from daemon import config
from lab import LabError, Skip
from topology import (A, B, BITS, FAMILIES, FAR, R1, chain, direct, multipath, routed)
from wire import (ACK, ECHO_REQUEST, SYN, TCP, UDP, Sniffer, checksum, forge)

STORAGE = 3260


def lose(space, device, percent=40, table="loss"):
    """So many of the large ones get lost."""
    space.filter(table, [f'iifname "{device}" meta length > 2000 numgen random mod 100 < {percent} drop'],
                 priority=-310)


@case("lossy by", "large packets are lost too often, by each method and each way",
      *(f"{f} {way}" for f in FAMILIES for way in ("tcp", "responder", "responder return", "auto flows")))
def lossy_by(network, variant):
    family, way = variant.split(" ", 1)
    a, b = direct(network, 9000)
    responder(network, b)
    lose(*((a, "eth0") if way == "responder return" else (b, "eth0")))
    peer = {"Address": B[family], "Method": way.split()[0]}
    if way == "auto flows":
        peer["Flows"] = 4
    daemon = start(network, a, config({"b": peer}, Interval="1s"))
    state = daemon.wait_peer("b", Verdict="lossy", Severity="warning", PathMTU=9000, deadline=120)
    equal("Direction", state["Direction"], "return" if way == "responder return" else "forward")
    never(daemon, "b", "black-hole", "reduced", "partial", "unreachable")
    (a if way == "responder return" else b).unfilter("loss")
    daemon.wait_peer("b", Verdict="consistent", deadline=90)


@case("dead leg", "one of two legs carries nothing at all: no matter of size", *FAMILIES)
def dead_leg(network, family):
    a, _, r2, _ = multipath(network, family)
    r2.filter("dead", ['iifname "leg2" meta l4proto tcp drop'])
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "tcp", "Flows": 16}}))
    state = daemon.wait_peer("b", Verdict="partial")
    holds(state, Severity="warning", Confirmed=False, PathMTU=9000, Direction="unknown", Locus="")
    assert 0 < state["FlowsFaulty"] < 16, state["FlowsFaulty"]
    assert f"{state['FlowsFaulty']} of 16 flows get no answer at all" in state["Reason"], state["Reason"]
    daemon.rounds("b", 2, Verdict="partial", FlowsFaulty=state["FlowsFaulty"])
    equal("PRIORITY", one_alert(daemon, "b", "partial")["PRIORITY"], "4")
    never(daemon, "b", "unreachable", "black-hole")
    r2.unfilter("dead")
    consistent(daemon, "b", 9000, FlowsFaulty=0)


@case("locus of flows", "the walk goes by the flow that is bad", *FAMILIES)
def locus_of_flows(network, family):
    a, _, r2, _ = multipath(network, family)
    r2.drop_above(1500, "leg2")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "tcp", "Flows": 16}}))
    daemon.wait_peer("b", Verdict="partial", Severity="critical", PathMTU=1500,
                     Locus=f"after {R1[family]}")


@case("flows by echo", "several flows that only echoes can ask prove little, and that is said",
      *FAMILIES)
def flows_by_echo(network, family):
    a, _, _, b = multipath(network, family)
    only_echo(b)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Flows": 8}}))
    consistent(daemon, "b", 9000, Flows=8)
    said = daemon.wait("the finding", lambda: findings(daemon.peer("b"), "flows-unproven"))
    equal("severity", said[0][1], "notice")
    silent(daemon)
    b.unfilter("only_echo")
    daemon.wait_peer("b", Verdict="consistent", Findings=lambda f: not f, deadline=120)


@case("udp flows", "many flows at one a second: soon a verdict, the others in turn", *FAMILIES)
def udp_flows(network, family):
    a, b = direct(network, 1500)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({
        "b": {"Address": B[family], "Method": "udp", "Flows": 16},
        "same": {"Address": B[family], "Method": "udp"}}, Interval="2s"))
    consistent(daemon, "b", 1500)
    consistent(daemon, "same", 1500)
    daemon.wait_peer("b", Verdict="consistent", Findings=lambda f: not f, deadline=90)
    times = sorted(p.time for p in sniffer.probes(B[family], UDP))
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    assert min(gaps) > 0.9, min(gaps)
    equal("flows asked", len({p.from_port for p in sniffer.probes(B[family], UDP)}), 17)
    silent(daemon)


# what is asked for and not there

@case("responder missing", "no responder there, but the peer lives: said, and not called unreachable",
      *(f"{f} {how}" for f in FAMILIES for how in ("refused", "dropped", "dropped tcp")))
def responder_missing(network, variant):
    family, how = variant.split(" ", 1)
    a, _, b = routed(network, 9000)
    if how != "refused":
        b.filter("no_udp", ["meta l4proto udp drop"])
    if how == "dropped tcp":
        no_echo(b)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "responder"}}))
    state = daemon.wait_peer("b", Verdict="unverifiable", Severity="notice")
    holds(state, PathMTU=0, ReturnMTU=0, Confirmed=False)
    assert "no mtuwatchd answers" in state["Reason"], state["Reason"]
    daemon.rounds("b", 2, Verdict="unverifiable")
    silent(daemon)
    never(daemon, "b", "unreachable", "consistent", "black-hole")
    if how != "refused":
        b.unfilter("no_udp")
    responder(network, b)
    consistent(daemon, "b", 9000, ReturnMTU=9000)


# who bears whom out

@case("same rule", "the same rule against large pings on several peers is no path's fault", *FAMILIES)
def same_rule(network, family):
    a, b = direct(network, 9000)
    prefix = B[family][:-1]
    others = [f"{prefix}{n}" for n in (4, 5, 6)]
    for address in others:
        b.address("eth0", f"{address}/{BITS[family]}")
    no_large_echo(b, 1400)
    only_echo(b)
    daemon = start(network, a, config({f"b{i}": {"Address": address}
                                       for i, address in enumerate(others)}, Interval="1s"))
    for i in range(3):
        daemon.wait_peer(f"b{i}", Verdict="black-hole", PathMTU=1400)
    daemon.rounds_of([f"b{i}" for i in range(3)], 6, 90, Confirmed=False, Severity="warning")
    assert all(r["PRIORITY"] == "4" for r in daemon.alerts()), daemon.alerts()


@case("router bears out", "echo alone: a router that fails before the peer does", *FAMILIES)
def router_bears_out(network, family):
    a, routers, b = chain(network)
    routers[1].drop_above(3000, "near")
    only_echo(b)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=3000, Confirmed=True, Severity="critical",
                     Locus=f"after {R1[family]}")
    daemon.rounds("b", 3, Verdict="black-hole", Confirmed=True)


def ttl_limited(sniffer, to):
    """Probes that were not meant to arrive."""
    return [p for p in sniffer.probes(to) if p.bytes[8 if p.version == 4 else 7] < 32]


@case("one walk", "the place is looked for when the verdict changes, not every round", *FAMILIES)
def one_walk(network, family):
    a, routers, _ = chain(network)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="1s"))
    consistent(daemon, "b", 9000)
    daemon.rounds("b", 3)
    equal("walks while all is well", ttl_limited(sniffer, FAR[family]), [])
    routers[1].drop_above(3000, "near")
    black_hole(daemon, "b", 3000, Locus=f"after {R1[family]}")
    walked = len(ttl_limited(sniffer, FAR[family]))
    assert 4 <= walked <= 40, walked
    daemon.rounds("b", 8, Verdict="black-hole", Locus=f"after {R1[family]}")
    equal("walks of a standing fault", len(ttl_limited(sniffer, FAR[family])), walked)
    routers[1].drop_above(2000, "near", table="above2")
    black_hole(daemon, "b", 2000, Locus=f"after {R1[family]}")
    assert len(ttl_limited(sniffer, FAR[family])) > walked, "another fault, and no walk"


# sizes that do not fail in order, and this host's own filter

@case("out of order", "sizes that do not fail in order: nothing is claimed of all that are larger",
      *FAMILIES)
def out_of_order(network, family):
    a, _, b = routed(network, 9000)
    b.filter("above", ['iifname "eth0" meta length 4000-5000 drop',
                       'iifname "eth0" meta length > 8000 drop'])
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    state = daemon.wait_peer("b", Verdict="black-hole", PathMTU=lambda mtu: mtu in (3999, 8000))
    said = one_alert(daemon, "b", "black-hole")["MESSAGE"]
    if state["PathMTU"] == 8000:
        assert "sizes do not fail in order" in said and "above" not in said, said


@case("filter named", "a refusal of this host's own filter is said for what it is")
def filter_named(network):
    a, _ = direct(network, 9000)
    a.filter("own", ["meta length > 1400 drop"], hook="output", priority=0)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    state = daemon.wait_peer("b", Verdict="misconfigured", PathMTU=1400, Locus="local")
    assert "packet filter refuses more than 1400 bytes" in state["Reason"], state["Reason"]
    said = one_alert(daemon, "b", "misconfigured")
    assert "packet filter" in said["MESSAGE"], said
    daemon.wait("the advice", lambda: all(word in " ".join(" ".join(daemon.lines).split())
                                          for word in ("nft list ruleset", "iptables-save")))


# false witnesses

@case("reports ignored", "reports about packets that nobody sent: counted, and nothing else",
      *FAMILIES)
def reports_ignored(network, family):
    a, r1, _ = routed(network, 1500)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="1s"))
    consistent(daemon, "b", 1500)
    daemon.rounds("b", 1)
    equal("ReportsIgnored", daemon.describe()["ReportsIgnored"], 0)
    quoted = sniffer.last(lambda p: p.outgoing and p.to == FAR[family]
                          and p.kind == ECHO_REQUEST[p.version]).bytes
    at = 20 + 4 if family == "ipv4" else 40 + 4
    # an identifier below all that are ours, and a nonce that is not ours
    for forged in (quoted[:at] + b"\0\1" + quoted[at + 2:],
                   quoted[:at + 4] + b"\xee" * 8 + quoted[at + 12:]):
        for _ in range(5):
            forge(r1, "near", a.hardware_address("eth0"), R1[family], A[family], 1400, forged)
    daemon.wait("the count", lambda: daemon.describe()["ReportsIgnored"] == 10)
    # an IPv6 kernel believes any of them by itself (icmpv6_err), which the daemon may have seen by now
    believed = ["cached-pmtu-stale"] if family == "ipv6" else []
    daemon.rounds("b", 2, Verdict="consistent", PathMTU=1500,
                  Findings=lambda found: [one[0] for one in found] in ([], believed))
    equal("ReportsIgnored", daemon.describe()["ReportsIgnored"], 10)
    silent(daemon)


def segment(source, to, from_port, port, numbers, flags=SYN | ACK):
    """A bare TCP segment with its IP header."""
    sequence, acknowledged = numbers
    tcp = struct.pack("!HHIIBBHHH", from_port, port, sequence, acknowledged & 0xFFFFFFFF, 0x50, flags,
                      65535, 0, 0)
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    addresses = socket.inet_pton(family, source) + socket.inet_pton(family, to)
    pseudo = addresses + (struct.pack("!II", len(tcp), 6) if ":" in to else
                          struct.pack("!BBH", 0, 6, len(tcp)))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    if ":" in to:
        return 0x86DD, struct.pack("!IHBB", 6 << 28, len(tcp), 6, 64) + addresses + tcp
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0) + addresses
    return 0x0800, head[:10] + struct.pack("!H", checksum(head)) + head[12:] + tcp


def frame_sender(network, space, device, to_hardware):
    with space.entered():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((device, 0))
    network.stack.callback(sock.close)
    head = to_hardware + space.hardware_address(device)
    return lambda ethertype, packet: sock.send(head + struct.pack("!H", ethertype) + packet)


@contextlib.contextmanager
def answering(sniffer, forged):
    """Calls forged(packet) for what was sent, as soon as it is seen."""
    ending, seen = threading.Event(), 0

    def work():
        nonlocal seen
        while not ending.wait(0.001):
            packets = list(sniffer.packets)
            for packet in packets[seen:]:
                if packet.outgoing:
                    forged(packet)
            seen = len(packets)
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join(5)


@case("forged acks", "who cannot know a SYN's number cannot say that it arrived", *FAMILIES)
def forged_acks(network, family):
    a, r1, b = routed(network, 9000)
    b.drop_above(1500, "eth0")
    sniffer = Sniffer(network, r1, "near")
    sniffer_a = Sniffer(network, a, "eth0")
    send = frame_sender(network, r1, "near", a.hardware_address("eth0"))
    count = 0

    def forged(packet):
        nonlocal count
        if packet.protocol != TCP or packet.to != FAR[family] or not packet.flags & SYN:
            return
        # by an observer of ports who does not see the numbers: near misses of the real one too
        at = 20 if family == "ipv4" else 40
        number = struct.unpack_from("!I", packet.bytes, at + 4)[0]
        for guess in (0, number, number + 2, number ^ 0x10000, number + 0x01010001, 0xFFFFFFFF):
            send(*segment(FAR[family], A[family], packet.port, packet.from_port, (1, guess)))
            count += 1
    with answering(sniffer_a, forged):
        daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "tcp",
                                                 "Port": STORAGE}}, Interval="1s"))
        black_hole(daemon, "b", 1500)
        daemon.rounds("b", 3, Verdict="black-hole", PathMTU=1500)
    assert count > 30, count
    sniffer.close()
    never(daemon, "b", "consistent", "lossy", "reduced")


def datagram(source, to, from_port, port, payload):
    udp = struct.pack("!HHHH", from_port, port, 8 + len(payload), 0) + payload
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    addresses = socket.inet_pton(family, source) + socket.inet_pton(family, to)
    pseudo = addresses + (struct.pack("!II", len(udp), 17) if ":" in to else
                          struct.pack("!BBH", 0, 17, len(udp)))
    udp = udp[:6] + struct.pack("!H", checksum(pseudo + udp)) + udp[8:]
    if ":" in to:
        return 0x86DD, struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + addresses + udp
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + addresses
    return 0x0800, head[:10] + struct.pack("!H", checksum(head)) + head[12:] + udp


@case("forged receipts", "receipts and answers of another nonce move nothing", *FAMILIES)
def forged_receipts(network, family):
    a, r1, b = routed(network, 9000)
    responder(network, b)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Method": "responder"}},
                                      Interval="1s"))
    consistent(daemon, "b", 9000, ReturnMTU=9000)
    # real ones of an earlier round, to be sent again for each later probe
    old = [p.bytes[28 if family == "ipv4" else 48:][:256] for p in list(sniffer.packets)
           if p.protocol == UDP and not p.outgoing and p.size < 200]
    assert old, "no receipt seen"
    b.drop_above(1500, "eth0")
    send = frame_sender(network, r1, "near", a.hardware_address("eth0"))
    count = 0

    def forged(packet):
        nonlocal count
        if packet.protocol != UDP or packet.to != FAR[family]:
            return
        for payload in old[-4:]:
            for change in range(0, min(len(payload), 32), 8):
                altered = payload[:change] + bytes([payload[change] ^ 1]) + payload[change + 1:]
                for one in (payload, altered):
                    send(*datagram(FAR[family], A[family], packet.port, packet.from_port, one))
                    count += 1
    with answering(sniffer, forged):
        black_hole(daemon, "b", 1500, ReturnMTU=lambda mtu: mtu in (0, 1500))
        daemon.rounds("b", 3, Verdict="black-hole", PathMTU=1500)
    assert count > 30, count
    never(daemon, "b", "lossy", "reduced", "partial")


@case("synproxy", "a proxy that answers SYNs in the peer's name does not speak for what is behind it")
def synproxy(network):
    a, r1, b = routed(network, 9000)
    b.drop_above(1500, "eth0")
    r1.sysctl("net.netfilter.nf_conntrack_tcp_loose", 0)
    r1.sysctl("net.ipv4.tcp_syncookies", 1)
    try:
        r1.nft("table ip proxy {\n\tchain before {\n\t\ttype filter hook prerouting priority -300;\n"
               f"\t\ttcp dport {STORAGE} tcp flags syn notrack\n\t}}\n\tchain forwarding {{\n"
               "\t\ttype filter hook forward priority 0;\n"
               f"\t\ttcp dport {STORAGE} ct state invalid,untracked synproxy mss 1460 wscale 7 "
               "timestamp sack-perm\n\t\tct state invalid drop\n\t}\n}\n")
    except LabError as error:
        raise Skip(f"no synproxy in this kernel: {error}") from None
    daemon = start(network, a, config({"b": {"Address": FAR["ipv4"], "Port": STORAGE}}))
    daemon.wait_peer("b", Verdict="black-hole", PathMTU=1500)
    daemon.rounds("b", 3, Verdict="black-hole", PathMTU=1500)
    never(daemon, "b", "consistent", "lossy")


# this host's ports

@case("ports taken", "source ports that services hold, or are to hold, are left to them",
      *(f"{f} {method}" for f in FAMILIES for method in ("tcp", "responder")))
def ports_taken(network, variant):
    family, method = variant.split()
    a, b = direct(network, 9000)
    if method == "responder":
        responder(network, b)
    # all but few are reserved, and half of these few are taken
    free = range(40000, 40200)
    a.sysctl("net.ipv4.ip_local_reserved_ports", f"1-{free[0] - 1},{free[-1] + 1}-65535")
    kind = socket.SOCK_STREAM if method == "tcp" else socket.SOCK_DGRAM
    taken = set(free[::2])
    with a.entered():
        for port in taken:
            sock = socket.socket(socket.AF_INET if family == "ipv4" else socket.AF_INET6, kind)
            network.stack.callback(sock.close)
            sock.bind(("0.0.0.0" if family == "ipv4" else "::", port))
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": method, "Flows": 2}}))
    daemon.wait_peer("b", Verdict=lambda v: v != "unknown", deadline=60)
    used = {p.from_port for p in sniffer.probes(B[family])}
    assert not used & taken, used & taken
    assert used <= set(free), used
