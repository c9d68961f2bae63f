# SPDX-License-Identifier: LGPL-2.1-or-later
"""What real TCP connections and the kernel's memory of a path tell, and when they have to be silent."""

import contextlib
import json
import re
import socket
import threading

from cases import black_hole, case, consistent, equal, findings, never, one_alert, silent, start
from daemon import config
from lab import run
from topology import (A, B, BITS, FAMILIES, FAR, MULTI, R1, both, direct, limit, routed, switched,
                      two_links)
from wire import Sniffer, forge

STORAGE = {"nfs": 2049, "iscsi": 3260, "nvme": 4420}
MSS, STALE, STALLED = "socket-mss-below-path", "cached-pmtu-stale", "connections-stalled"
OTHER = {"ipv4": "192.0.2.77", "ipv6": "2001:db8:1::77"}
OURS = (MSS, STALE, STALLED)
BUFFERS = {"ipv4": socket.AF_INET, "ipv6": socket.AF_INET6, "mapped": socket.AF_INET6}


def address(family, where):
    """As a program writes it; a mapped one is IPv4 from a socket of IPv6."""
    return f"::ffff:{where['ipv4']}" if family == "mapped" else where[family]


class Server:
    """Takes connections and everything that comes by them; a receiver that sleeps takes nothing."""

    def __init__(self, network, space, where, port, family="ipv4", reading=True, buffer=0):
        self.open = []
        with space.entered():
            self.listener = socket.socket(BUFFERS[family])
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if buffer:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.listener.bind((address(family, where), port))
        self.listener.listen(64)
        self.reading = reading
        threading.Thread(target=self._accept, daemon=True).start()
        network.stack.callback(self.close)

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.open.append(connection)
                if self.reading:
                    threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        with contextlib.suppress(OSError):
            while connection.recv(1 << 16):
                pass

    def chatter(self, network, pause=0.05):
        """Small words to everyone who is connected, without end."""
        ending = threading.Event()

        def talk():
            while not ending.wait(pause):
                for one in list(self.open):
                    with contextlib.suppress(OSError):
                        one.send(b"still here")
        thread = threading.Thread(target=talk, daemon=True)
        thread.start()
        network.stack.callback(thread.join, 5)
        network.stack.callback(ending.set)

    def close(self):
        for one in (self.listener, *self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


class Client:
    """A connection that is open until the case is over; sends without end when told to."""

    def __init__(self, network, space, where, port, family="ipv4", source=None):
        with space.entered():
            self.socket = socket.socket(BUFFERS[family])
        if source:
            self.socket.bind((source, 0))
        self.socket.settimeout(30)
        self.socket.connect((address(family, where), port))
        self.ending = threading.Event()
        self.thread = None
        network.stack.callback(self.close)

    def pump(self, pause=0.002):
        """Full segments, a few megabytes a second at most."""
        def send():
            with contextlib.suppress(OSError):
                while not self.ending.wait(pause):
                    self.socket.send(bytes(32768))
        self.thread = threading.Thread(target=send, daemon=True)
        self.thread.start()
        return self

    def close(self):
        self.ending.set()
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        if self.thread:
            self.thread.join(5)


def found(daemon, name, *ids):
    """Waits for exactly these of our findings, and returns them by id."""
    state = daemon.wait_peer(name, Findings=lambda all_: {f[0] for f in all_ if f[0] in OURS}
                             == set(ids))
    return {f[0]: f for f in findings(state, *OURS)}


def holds(finding, severity, *words):
    equal("severity", finding[1], severity)
    for word in words:
        assert word in finding[2] + "|" + finding[3], f"no {word!r} in {finding}"
    assert finding[3], "no advice"


def nothing_to_say(daemon, name, mss, rounds=12):
    """The connection is seen, and for so many rounds there is nothing wrong with it."""
    daemon.wait_peer(name, SocketMSS=mss)
    daemon.rounds(name, rounds, SocketMSS=mss, Verdict="consistent",
                  Findings=lambda all_: not [f for f in all_ if f[0] in OURS])
    silent(daemon)
    equal("our findings in the journal",
          [r["MESSAGE"] for r in daemon.records if r.get("MTUWATCH_FINDING") in OURS], [])


@case("sockets healthy", "a transfer at 9000, with and without timestamps: no finding",
      "ipv4", "ipv6", "mapped", "plain")
def healthy(network, family):
    a, b = direct(network, 9000)
    a.sysctl("net.ipv4.tcp_timestamps", 0 if family == "plain" else 1)
    mss = {"ipv4": 8948, "mapped": 8948, "ipv6": 8928, "plain": 8960}[family]
    family = "ipv4" if family == "plain" else family
    where = B["ipv6" if family == "ipv6" else "ipv4"]
    Server(network, b, B, STORAGE["nfs"], family)
    daemon = start(network, a, config({"b": {"Address": where}}))
    consistent(daemon, "b", 9000, SocketMSS=0)
    Client(network, a, B, STORAGE["nfs"], family).pump()
    nothing_to_say(daemon, "b", mss)


@case("sockets 1500", "ordinary links, many connections, both ends' own", *FAMILIES)
def ordinary(network, family):
    a, b = direct(network, 1500)
    Server(network, b, B, STORAGE["iscsi"], family)
    Server(network, a, A, STORAGE["nvme"], family)
    for _ in range(5):
        Client(network, a, B, STORAGE["iscsi"], family)
        Client(network, b, A, STORAGE["nvme"], family).pump(0.02)
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    nothing_to_say(daemon, "b", 1448 if family == "ipv4" else 1428)


@case("sockets other way", "connections from another address leave by a smaller link", *FAMILIES)
def other_way(network, family):
    a, b = two_links(network, family)
    for space in (a, b):
        space.mtu("eth1", 1500)
    far, bits = MULTI[family], 32 if family == "ipv4" else 128
    six = "" if family == "ipv4" else "-6 "
    source = "10.1.0.1" if family == "ipv4" else "2001:db8:8::1"
    second = "10.1.0.2" if family == "ipv4" else "2001:db8:8::2"
    a.route(f"replace {far}/{bits} via {B[family]} dev eth0")
    a.ip(f"{six}rule add from {source} table 100")
    a.ip(f"{six}route add {far}/{bits} via {second} dev eth1 table 100")
    Server(network, b, MULTI, STORAGE["iscsi"], family)
    Client(network, a, MULTI, STORAGE["iscsi"], family, source=source)
    daemon = start(network, a, config({"far": {"Address": far},
                                       "second": {"Address": far, "Source": source}}))
    daemon.wait_peer("second", Verdict="consistent", PathMTU=1500,
                     SocketMSS=1448 if family == "ipv4" else 1428)
    nothing_to_say(daemon, "far", 0)
    # one more of its own address, on the same link as the path, is its own all the same
    a.address("eth0", f"{OTHER[family]}/{BITS[family]}")
    Client(network, a, MULTI, STORAGE["iscsi"], family, source=OTHER[family])
    nothing_to_say(daemon, "far", 8948 if family == "ipv4" else 8928)


@case("sockets small window", "a peer that takes little at a time", *FAMILIES)
def small_window(network, family):
    a, b = direct(network, 9000)
    Server(network, b, B, STORAGE["iscsi"], family, buffer=4096)
    Client(network, a, B, STORAGE["iscsi"], family).pump()
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    nothing_to_say(daemon, "b", lambda mss: 0 < mss < 8000)


@case("sockets churn", "connections that come and go, and one that looks for its own size")
def churn(network):
    a, b = direct(network, 9000)
    a.sysctl("net.ipv4.tcp_mtu_probing", 2)
    Server(network, b, B, STORAGE["nfs"])
    ending = threading.Event()

    def work():
        while not ending.wait(0.05):
            client = Client(network, a, B, STORAGE["nfs"])
            with contextlib.suppress(OSError):
                client.socket.send(bytes(20000))
            client.close()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    network.stack.callback(thread.join, 30)
    network.stack.callback(ending.set)
    Client(network, a, B, STORAGE["nfs"])
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    nothing_to_say(daemon, "b", lambda mss: 0 < mss < 8000)


@case("sockets clamped", "a router on the way lowers the MSS", "ipv4", "ipv6", "mapped", "plain")
def clamped(network, family):
    a, r1, b = routed(network, 9000)
    r1.filter("clamp", ["tcp flags syn tcp option maxseg size set 1400"], hook="forward", priority=0)
    a.sysctl("net.ipv4.tcp_timestamps", 0 if family == "plain" else 1)
    mss = 1400 if family == "plain" else 1388
    family = "ipv4" if family == "plain" else family
    kind = "ipv6" if family == "ipv6" else "ipv4"
    Server(network, b, FAR, STORAGE["iscsi"], family)
    client = Client(network, a, FAR, STORAGE["iscsi"], family)
    daemon = start(network, a, config({"b": {"Address": FAR[kind]}, "gw": {"Address": R1[kind]}}))
    said = found(daemon, "b", MSS)
    holds(said[MSS], "notice", f"MSS {mss}", "1440 bytes" if kind == "ipv4" else "1460 bytes",
          "9000 pass", "rewrites the MSS")
    consistent(daemon, "b", 9000, SocketMSS=mss)
    found(daemon, "gw")
    silent(daemon)
    # another connection, without the clamp, and the first one gone
    r1.unfilter("clamp")
    Client(network, a, FAR, STORAGE["iscsi"], family)
    client.close()
    found(daemon, "b")
    equal("records", [r["MESSAGE_ID"] for r in daemon.told("b", MTUWATCH_FINDING=MSS)],
          ["a9557370138546c78d300f41b90a2b8e", "a58f5f23ee5b49a69d46b6fe59b5c216"])


@case("sockets peer route", "the peer announces less, by its own route", *FAMILIES)
def peer_announces_less(network, family):
    a, b = direct(network, 9000)
    b.route(f"add {A[family]}/{32 if family == 'ipv4' else 128} dev eth0 advmss 4000")
    Server(network, b, B, STORAGE["nfs"], family)
    Client(network, a, B, STORAGE["nfs"], family)
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    said = found(daemon, "b", MSS)
    holds(said[MSS], "notice", "MSS 3988", "9000 pass", "advmss")
    silent(daemon)


@case("sockets peer bridge", "the peer's bridge fell to 1500 and still takes 9000", "ipv4")
def peer_bridge(network, family):
    a, b = network.space("A"), network.space("B")
    network.link(a, "eth0", b, "port", 9000)
    b.ip("link add br0 type bridge forward_delay 0 mcast_snooping 0")
    b.ip("link set port master br0")
    b.mtu("br0", 1500)
    b.up("br0")
    a.address("eth0", *both(A))
    b.address("br0", *both(B))
    Server(network, b, B, STORAGE["nfs"], family)
    Client(network, a, B, STORAGE["nfs"], family)
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    said = found(daemon, "b", MSS)
    holds(said[MSS], "notice", "MSS 1448", "1500 bytes", "9000 pass",
          "no more comes back from it whole")
    silent(daemon)


@case("sockets own route", "this host announces less by a route of its own", *FAMILIES)
def own_route(network, family):
    a, b = direct(network, 9000)
    a.route(f"add {B[family]}/{32 if family == 'ipv4' else 128} dev eth0 advmss 4000")
    Server(network, b, B, STORAGE["nfs"], family)
    Client(network, a, B, STORAGE["nfs"], family)
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    said = found(daemon, "b", MSS)
    holds(said[MSS], "notice", "this host announced", "advmss", "9000 pass")
    consistent(daemon, "b", 9000, SocketMSS=8948 if family == "ipv4" else 8928)
    silent(daemon)


@case("sockets route mtu", "a route's own MTU is no learned one", *FAMILIES)
def route_mtu(network, family):
    a, b = direct(network, 9000)
    a.route(f"add {B[family]}/{32 if family == 'ipv4' else 128} dev eth0 mtu lock 1500")
    Server(network, b, B, STORAGE["nfs"], family)
    Client(network, a, B, STORAGE["nfs"], family)
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    nothing_to_say(daemon, "b", 1448 if family == "ipv4" else 1428)
    equal("KernelMTU", daemon.peer("b")["KernelMTU"], 1500)


@case("cache stale", "a router told of 1500 and was mended; connections still believe it", *FAMILIES)
def cache_stale(network, family):
    a, r1, b = routed(network, 9000, 1500)
    Server(network, b, FAR, STORAGE["nfs"], family)
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}))
    daemon.wait_peer("b", Verdict="reduced", PathMTU=1500)
    b.mtu("eth0", 9000)
    client = Client(network, a, FAR, STORAGE["nfs"], family).pump()
    daemon.wait_peer("b", SocketMSS=1448 if family == "ipv4" else 1428, KernelMTU=1500)
    daemon.rounds("b", 3, Findings=lambda all_: not [f for f in all_ if f[0] in OURS])
    r1.mtu("far", 9000)
    said = found(daemon, "b", STALE, MSS)
    holds(said[STALE], "notice", "1500", FAR[family], "9000", "flush cache")
    holds(said[MSS], "notice", "1500 bytes", "9000 pass", "has not forgotten")
    consistent(daemon, "b", 9000, KernelMTU=1500)
    # the advice is what helps
    if family == "ipv4":
        a.ip("route flush cache")
    else:
        a.ip(f"-6 route flush cache {FAR[family]}")
    # what a connection sends is the larger size at once
    consistent(daemon, "b", 9000, KernelMTU=9000, SocketMSS=8948 if family == "ipv4" else 8928)
    if family == "ipv6":
        # the prober's own report was there when it was opened: what it announced then stays
        holds(found(daemon, "b", MSS)[MSS], "notice", "this host announced", "open it anew")
        client.close()
    found(daemon, "b")
    never(daemon, "b", "black-hole")
    silent(daemon)


@case("cache stale alone", "no connection, a path that never was at fault", *FAMILIES)
def cache_stale_alone(network, family):
    a, r1, _ = routed(network, 9000)
    # rounds are farther apart than looks: it is found by looking, and a round follows at once
    sniffer = Sniffer(network, a, "eth0")
    daemon = start(network, a, config({"b": {"Address": FAR[family]}}, Interval="1min"))
    consistent(daemon, "b", 9000, KernelMTU=9000)
    outgoing = sniffer.last(lambda p: p.outgoing and p.size == 9000)
    if family == "ipv4":
        # for a report about an echo some raw socket has to be open
        with a.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW, 1):
            forge(r1, "near", a.hardware_address("eth0"), R1[family], A[family], 4000,
                  outgoing.bytes)
            said = found(daemon, "b", STALE)
    else:
        forge(r1, "near", a.hardware_address("eth0"), R1[family], A[family], 4000, outgoing.bytes)
        said = found(daemon, "b", STALE)
    holds(said[STALE], "notice", "4000", FAR[family], "9000", "flush cache")
    consistent(daemon, "b", 9000, KernelMTU=4000)
    a.ip("route flush cache" if family == "ipv4" else f"-6 route flush cache {FAR[family]}")
    found(daemon, "b")
    silent(daemon)


@case("cache locked", "a report of MTU 0: applications send fragments without DF")
def cache_locked(network):
    a, r1, b = routed(network, 1500)
    daemon = start(network, a, config({"b": {"Address": FAR["ipv4"]}}))
    consistent(daemon, "b", 1500, KernelMTU=1500)
    sniffer = Sniffer(network, a, "eth0")
    outgoing = sniffer.last(lambda p: p.outgoing and p.size == 1500)
    with a.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW, 1):
        forge(r1, "near", a.hardware_address("eth0"), R1["ipv4"], A["ipv4"], 0, outgoing.bytes)
        said = found(daemon, "b", STALE)
    holds(said[STALE], "notice", "552", "without DF", "1500", "ip route flush cache", "reports")
    consistent(daemon, "b", 1500, KernelMTU=552)
    a.ip("route flush cache")
    found(daemon, "b")
    silent(daemon)
    never(daemon, "b", "black-hole", "reduced")


@case("sockets once", "a single look, for who asks once")
def once(network):
    a, r1, b = routed(network, 9000)
    r1.filter("clamp", ["tcp flags syn tcp option maxseg size set 1400"], hook="forward", priority=0)
    Server(network, b, FAR, STORAGE["iscsi"])
    Client(network, a, FAR, STORAGE["iscsi"])
    daemon = start(network, a, "", bus=False, start=False)
    status, out, errors = daemon.once("--once", "--json=short", FAR["ipv4"], R1["ipv4"])
    equal("status", status, 0)
    equal("stderr", errors, "")
    peers = {peer["Address"]: peer for peer in json.loads(out)["Peers"]}
    peer = peers[FAR["ipv4"]]
    equal("SocketMSS", peer["SocketMSS"], 1388)
    equal("SocketMSS of the router", peers[R1["ipv4"]]["SocketMSS"], 0)
    assert "rewrites the MSS" in json.dumps(peer["Findings"]), peer["Findings"]


def stall(network, family):
    """A transfer and a black hole that appears in the middle of it; rounds are an hour apart."""
    a, b, s1 = switched(network, 9000)
    Server(network, b, B, STORAGE["nfs"], family)
    client = Client(network, a, B, STORAGE["nfs"], family).pump()
    daemon = start(network, a, config({"b": {"Address": B[family]}}, Interval="1h"))
    consistent(daemon, "b", 9000, SocketMSS=8948 if family == "ipv4" else 8928)
    return a, b, s1, client, daemon


@case("stall", "a black hole in the middle of a transfer, long before the next round", *FAMILIES)
def stalled(network, family):
    _, _, s1, _, daemon = stall(network, family)
    limit(s1, 1500)
    black_hole(daemon, "b", 1500)
    said = found(daemon, "b", STALLED)
    holds(said[STALLED], "warning", "9000 bytes", "nowhere")
    one_alert(daemon, "b", "black-hole")
    s1.mtu("trunk", 9000)
    # that traffic moves again is a reason to ask, too
    consistent(daemon, "b", 9000, deadline=120)
    found(daemon, "b")


@case("stall dead", "a peer that dies in the middle of a transfer", *FAMILIES)
def dead(network, family):
    _, b, _, _, daemon = stall(network, family)
    b.filter("dead", ["drop"])
    daemon.wait_peer("b", Verdict="unreachable", Findings=lambda all_: not all_)
    before = daemon.peer("b")["Rounds"]
    daemon.wait_peer("b", Rounds=lambda n: n >= before + 1, Verdict="unreachable",
                     Findings=lambda all_: not all_)
    equal("records", daemon.told("b", MTUWATCH_FINDING=STALLED), [])
    never(daemon, "b", "black-hole", "partial", "lossy")


@case("stall one way", "one connection's large segments get lost, others' pass", "heard", "silent")
def one_way(network, kind):
    a, b = direct(network, 9000)
    server = Server(network, b, B, STORAGE["iscsi"])
    if kind == "heard":
        server.chatter(network)
    Client(network, a, B, STORAGE["iscsi"]).pump()
    daemon = start(network, a, config({"b": {"Address": B["ipv4"], "Interval": "1h"}}))
    consistent(daemon, "b", 9000, SocketMSS=8948)
    b.filter("leg", [f"tcp dport {STORAGE['iscsi']} meta length > 1500 drop"])
    if kind == "heard":
        holds(found(daemon, "b", STALLED)[STALLED], "warning", "9000 bytes", "Flows=8")
    # the rounds that it starts find nothing
    before = daemon.peer("b")["Rounds"]
    daemon.wait_peer("b", Rounds=lambda n: n >= before + 2, Verdict="consistent", deadline=60)
    if kind == "silent":
        # nobody can tell it from a firewall that has forgotten the connection
        found(daemon, "b")
        silent(daemon)
        return
    b.unfilter("leg")
    found(daemon, "b")
    never(daemon, "b", "black-hole", "partial", "lossy")


@case("stall loss", "plain loss, both ways and of every size", *FAMILIES)
def loss(network, family):
    a, b = direct(network, 9000)
    b.filter("loss", ["numgen random mod 100 < 15 drop"])
    Server(network, b, B, STORAGE["nfs"], family)
    for _ in range(3):
        Client(network, a, B, STORAGE["nfs"], family).pump()
    daemon = start(network, a, config({"b": {"Address": B[family]}}))
    daemon.rounds("b", 25, deadline=150, Findings=lambda all_: not [f for f in all_ if f[0] in OURS])
    never(daemon, "b", "black-hole", "partial", "reduced")


@case("stall receiver", "a receiver that takes nothing more is no fault")
def receiver(network):
    a, b = direct(network, 9000)
    Server(network, b, B, STORAGE["nfs"], reading=False)
    Client(network, a, B, STORAGE["nfs"]).pump()
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}, Interval="1h"))
    consistent(daemon, "b", 9000, SocketMSS=8948)
    before = daemon.peer("b")["Rounds"]

    def waits_long():
        # asked whether it has opened, five times and ever more seldom: more than one look ago
        shown = run(a.command("ss", "-Htnoi", "dport", "= :2049"))
        backoff = re.search(r" backoff:(\d+)", shown)
        return "persist" in shown and backoff and int(backoff[1]) >= 5
    daemon.wait("a window that stays shut", waits_long)
    state = daemon.peer("b")
    equal("rounds", state["Rounds"], before)
    equal("findings", findings(state, *OURS), [])
    silent(daemon)


@case("sockets probed", "the kernel went down by itself and the path is whole again")
def probed(network):
    a, b, s1 = switched(network, 9000)
    a.sysctl("net.ipv4.tcp_mtu_probing", 1)
    Server(network, b, B, STORAGE["nfs"])
    client = Client(network, a, B, STORAGE["nfs"]).pump(0.2)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}))
    consistent(daemon, "b", 9000, SocketMSS=8948)
    limit(s1, 1500)
    black_hole(daemon, "b", 1500)
    daemon.wait_peer("b", SocketMSS=lambda mss: 0 < mss < 1500)
    # it goes up again only while it has much to send
    client.ending.set()
    client.thread.join(30)
    s1.mtu("trunk", 9000)
    consistent(daemon, "b", 9000, SocketMSS=lambda mss: 0 < mss < 1500)
    holds(found(daemon, "b", MSS)[MSS], "notice", "tcp_mtu_probing")
