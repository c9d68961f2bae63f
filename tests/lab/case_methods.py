# SPDX-License-Identifier: LGPL-2.1-or-later
"""Each method for itself, and Method=auto where echo is of no use."""

import contextlib
import select
import socket

from cases import (black_hole, case, consistent, equal, holds, never, no_echo, one_alert, only_echo,
                   responder, silent, start)
from daemon import config
from topology import B, FAMILIES, FAR, R1, direct, limit, routed, switched
from wire import ACK, RST, SYN, TCP, UDP, Sniffer, is_probe

STORAGE = 3260


def listener(network, space, family, port=STORAGE):
    """A service that takes no notice of connections that were never finished."""
    kind = socket.AF_INET if family == "ipv4" else socket.AF_INET6
    with space.entered():
        sock = socket.socket(kind, socket.SOCK_STREAM)
    network.stack.callback(sock.close)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(("0.0.0.0" if family == "ipv4" else "::", port))
    sock.listen(16)
    return sock


def one_half_open(sniffer):
    """Never a second SYN from a port while the peer may hold the first one half-open."""
    is_open, opened = {}, set()
    for packet in [p for p in list(sniffer.packets) if p.protocol == TCP]:
        if is_probe(packet) and packet.outgoing:
            assert not is_open.get(packet.from_port), f"two half-open from {packet.from_port}"
        elif not packet.outgoing and packet.flags & (SYN | ACK) == SYN | ACK:
            is_open[packet.port] = True
            opened.add(packet.port)
        elif packet.outgoing and packet.flags & RST:
            is_open[packet.from_port] = False
    return len(opened)


def tcp_peer(network, family, open_port, size=None, **more):
    a, b, s1 = switched(network)
    sock = listener(network, b, family) if open_port == "open" else None
    if size:
        limit(s1, size)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": "tcp",
                                             "Port": STORAGE, **more}}))
    return b, s1, sock, sniffer, daemon


def nothing_left(daemon, b, sock):
    daemon.wait("an end of what was half-open", lambda: not b.half_open())
    if sock:
        assert not select.select([sock], [], [], 0)[0], "a connection was really opened"


@case("tcp", "a SYN with data, to an open and to a closed port",
      *(f"{family} {port}" for family in FAMILIES for port in ("open", "closed")))
def tcp_clean(network, variant):
    family, port = variant.split()
    b, s1, sock, sniffer, daemon = tcp_peer(network, family, port)
    consistent(daemon, "b", 9000, Method="tcp")
    daemon.rounds("b", 3, Verdict="consistent", PathMTU=9000, ReturnMTU=0)
    nothing_left(daemon, b, sock)
    silent(daemon)
    equal("echoes", sniffer.requests(B[family]), [])

    limit(s1, 1443)
    black_hole(daemon, "b", 1443, Locus="on-link", Method="tcp")
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=1443)
    nothing_left(daemon, b, sock)
    opened = one_half_open(sniffer)
    equal("flows that were half-open", opened, 1 if port == "open" else 0)
    equal("source ports", len({p.from_port for p in sniffer.probes(B[family], TCP)}), 1)
    s1.mtu("trunk", 9000)
    consistent(daemon, "b", 9000)
    nothing_left(daemon, b, sock)
    one_half_open(sniffer)
    one_alert(daemon, "b", "black-hole")


@case("tcp flows", "several flows: never more than one half-open connection each", *FAMILIES)
def tcp_flows(network, family):
    b, _, sock, sniffer, daemon = tcp_peer(network, family, "open", 4000, Flows=4)
    black_hole(daemon, "b", 4000, Flows=4, FlowsFaulty=4)
    daemon.rounds("b", 2, Verdict="black-hole", PathMTU=4000)
    nothing_left(daemon, b, sock)
    equal("flows that were half-open", one_half_open(sniffer), 4)
    equal("source ports", len({p.from_port for p in sniffer.probes(B[family], TCP)}), 4)


@case("tcp backlog", "a SYN-ACK that is lost leaves nothing behind", *FAMILIES)
def tcp_answers_lost(network, family):
    a, b = direct(network, 9000)
    sock = listener(network, b, family)
    a.filter("loss", ["tcp flags & (syn | ack) == (syn | ack) numgen inc mod 3 0 drop"])
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": "tcp",
                                             "Port": STORAGE}}, Interval="1s"))
    consistent(daemon, "b", 9000)
    daemon.rounds("b", 6, Verdict="consistent", PathMTU=9000)
    nothing_left(daemon, b, sock)
    silent(daemon)


def apart(packets):
    times = sorted(p.time for p in packets)
    return [b - a for a, b in zip(times, times[1:])]


@case("udp", "datagrams to a closed port, one a second", *FAMILIES)
def udp(network, family):
    a, _ = direct(network, 1500)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": "udp"}}, Interval="1s"))
    consistent(daemon, "b", 1500, Method="udp", ReturnMTU=0)
    daemon.rounds("b", 3, Verdict="consistent", PathMTU=1500)
    gaps = apart(sniffer.probes(B[family], UDP))
    assert len(gaps) >= 4 and min(gaps) > 0.9, gaps
    equal("other probes", [p for p in sniffer.probes(B[family]) if p.protocol != UDP], [])
    silent(daemon)


@case("udp hole", "the number is exact by datagrams too", *FAMILIES)
def udp_hole(network, family):
    a, b = direct(network, 1500)
    b.drop_above(1300, "eth0")
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": "udp"}}, Interval="1s",
                                      FailAfter=1))
    black_hole(daemon, "b", 1300, deadline=90)
    gaps = apart(sniffer.probes(B[family], UDP))
    assert min(gaps) > 0.9, min(gaps)


# the responder

@case("responder off", "no daemon answers others unless it is told to", *FAMILIES)
def responder_off(network, family):
    a, b = direct(network, 9000)
    other = start(network, b, config({"a": {"Address": "192.0.2.1"}}))
    consistent(other, "a", 9000)
    assert not b.listens(8899), "a responder that nobody asked for"
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": "responder"}}))
    daemon.wait_peer("b", Verdict=lambda v: v in ("unreachable", "unverifiable"))
    state = daemon.rounds("b", 2)
    equal("numbers without a measurement", (state["PathMTU"], state["ReturnMTU"]), (0, 0))
    never(daemon, "b", "consistent", "black-hole", "reduced")


@case("responder", "one exchange measures both ways", *FAMILIES)
def responder_clean(network, family):
    a, b, s1 = switched(network)
    responder(network, b)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": "responder"}}))
    consistent(daemon, "b", 9000, ReturnMTU=9000, Method="responder")
    daemon.rounds("b", 2, Verdict="consistent", PathMTU=9000, ReturnMTU=9000)
    answers = [p for p in sniffer.packets if p.protocol == UDP and not p.outgoing]
    assert answers and all(p.df and not p.fragment for p in answers), "an answer in pieces"
    equal("largest answer", max(p.size for p in answers), 9000)
    limit(s1, 1443)
    black_hole(daemon, "b", 1443, ReturnMTU=lambda mtu: mtu in (0, 1443))
    s1.mtu("trunk", 9000)
    consistent(daemon, "b", 9000, ReturnMTU=9000)
    one_alert(daemon, "b", "black-hole")


@case("responder cookie", "who cannot hear its answers cannot make it send anything large",
      *FAMILIES)
def responder_cookie(network, family):
    a, b = direct(network, 9000)
    responder(network, b)
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": B[family], "Method": "responder"}}))
    consistent(daemon, "b", 9000)
    daemon.rounds("b", 1)
    asked = [p for p in sniffer.probes(B[family], UDP) if p.size == 9000]
    header = 28 if family == "ipv4" else 48

    def ask(message, size):
        """What comes back for this message from a port that has no cookie of its own."""
        got = []
        with a.entered():
            sock = socket.socket(socket.AF_INET if family == "ipv4" else socket.AF_INET6,
                                 socket.SOCK_DGRAM)
        with contextlib.closing(sock):
            sock.connect((B[family], 8899))
            sock.send(message[:size - header].ljust(size - header, b"\0"))
            while select.select([sock], [], [], 0.5)[0]:
                got.append(sock.recv(1 << 16))
        return got

    # a cookie is somebody's own: with another's nothing but a cookie comes, one small packet
    for message in {asked[0].payload[:32], asked[-1].payload[:32]}:
        for size in (9000, 1500, 200):
            got = ask(message, size)
            assert len(got) == 1 and len(got[0]) + header <= 100, (size, [len(x) for x in got])
    for message in (b"", b"\0" * 32, asked[-1].payload[:31], b"\xff" * 64):
        got = ask(message, header + len(message))
        assert sum(len(x) for x in got) <= len(message), (message, got)
    daemon.rounds("b", 1, Verdict="consistent", PathMTU=9000, ReturnMTU=9000)


@case("responder both", "two responders that watch each other", *FAMILIES)
def responder_both(network, family):
    a, b = direct(network, 9000)
    address = {"ipv4": ("192.0.2.1", B["ipv4"]), "ipv6": ("2001:db8:1::1", B["ipv6"])}[family]
    daemons = [start(network, space, config({"other": {"Address": to, "Method": "responder"}},
                                            Responder="yes"))
               for space, to in ((a, address[1]), (b, address[0]))]
    for daemon in daemons:
        consistent(daemon, "other", 9000, ReturnMTU=9000)
    for daemon in daemons:
        daemon.rounds("other", 2, Verdict="consistent", ReturnMTU=9000)
        silent(daemon)


# auto

@case("auto tcp", "echo is filtered: TCP takes over, and is shown", *FAMILIES)
def auto_tcp(network, family):
    a, _, b = routed(network, 9000)
    no_echo(b)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "ExpectMTU": 9000}}))
    consistent(daemon, "b", 9000, Method="tcp", ReturnMTU=0)
    daemon.rounds("b", 3, Verdict="consistent", PathMTU=9000, Method="tcp")
    silent(daemon)
    b.drop_above(1500, "eth0")
    black_hole(daemon, "b", 1500, Locus=f"after {R1[family]}", Method="tcp")
    one_alert(daemon, "b", "black-hole")
    never(daemon, "b", "unreachable", "reduced", "partial")


@case("auto responder", "echo is filtered: a responder is the best informed", *FAMILIES)
def auto_responder(network, family):
    a, _, b = routed(network, 9000)
    no_echo(b)
    responder(network, b)
    daemon = start(network, a, config({"b": {"Address": FAR[family], "ExpectMTU": 9000}}))
    consistent(daemon, "b", 9000, Method="responder", ReturnMTU=9000)
    daemon.rounds("b", 2, Verdict="consistent", PathMTU=9000, ReturnMTU=9000)
    silent(daemon)


@case("auto udp", "echo and TCP are filtered: datagrams are left", *FAMILIES)
def auto_udp(network, family):
    a, _, b = routed(network, 9000)
    no_echo(b)
    b.filter("no_tcp", ["meta l4proto tcp drop"])
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    consistent(daemon, "b", 9000, Method="udp")
    daemon.rounds("b", 1, Verdict="consistent", PathMTU=9000)
    silent(daemon)


@case("unverifiable", "it connects, but a SYN with data is dropped: no number", *FAMILIES)
def unverifiable(network, family):
    a, _, b = routed(network, 9000)
    sock = listener(network, b, family)
    no_echo(b)
    plain = 44 if family == "ipv4" else 64  # header and at most one option
    b.filter("data", ["meta l4proto udp drop",
                      f"tcp flags & (syn | ack) == syn meta length > {plain} drop"])
    daemon = start(network, a, config({"b": {"Address": FAR[family], "Port": STORAGE}}))
    state = daemon.wait_peer("b", Verdict="unverifiable", Severity="notice")
    holds(state, PathMTU=0, ReturnMTU=0, Direction="", Locus="", Router="")
    assert state["Reason"], "no reason"
    daemon.rounds("b", 2, Verdict="unverifiable", PathMTU=0)
    nothing_left(daemon, b, sock)
    silent(daemon)
    never(daemon, "b", "consistent", "black-hole", "reduced", "unreachable")
    b.unfilter("data")
    consistent(daemon, "b", 9000, Method="tcp")


@case("nothing", "everything is filtered: unreachable, and no number", *FAMILIES)
def nothing_answers(network, family):
    a, _, b = routed(network, 9000)
    no_echo(b)
    only_echo(b)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    state = daemon.wait_peer("b", Verdict="unreachable", Severity="warning")
    holds(state, PathMTU=0, Direction="", Locus="", Router="")
    daemon.rounds("b", 2, Verdict="unreachable")
    one_alert(daemon, "b", "unreachable")
    never(daemon, "b", "consistent", "black-hole", "reduced", "unverifiable")
    b.unfilter("no_echo")
    consistent(daemon, "b", 9000, Method="icmp")


@case("echo filter on and off", "a filter that comes and goes is no verdict",
      *(f"{family} {size}" for family in FAMILIES for size in (9000, 1500)))
def filter_on_and_off(network, variant):
    family, size = variant.split()
    size = int(size)
    a, r1, b = routed(network, 9000)
    if size < 9000:
        r1.filter("above", [f"meta length > {size} drop"], hook="forward", priority=0)
    wanted = "consistent" if size == 9000 else "black-hole"
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="1s"))
    daemon.wait_peer("b", Verdict=wanted, PathMTU=size)
    for _ in range(3):
        no_echo(b)
        daemon.rounds("b", 2, Verdict=wanted, PathMTU=size)
        b.unfilter("no_echo")
        daemon.rounds("b", 2, Verdict=wanted, PathMTU=size)
    equal("changes", daemon.verdicts("b"), [])
    equal("alerts", len(daemon.alerts("b")), 0 if size == 9000 else 1)
