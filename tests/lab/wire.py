# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is really on the wire: every frame of a device seen, and forged reports put there."""

import collections
import secrets
import select
import socket
import struct
import threading
import time

ETH_P_ALL = 0x0003
OUTGOING = 4  # PACKET_OUTGOING
SO_TIMESTAMPNS = 35
ECHO_REQUEST = {4: 8, 6: 128}
ECHO_REPLY = {4: 0, 6: 129}
TOO_BIG = {4: 3, 6: 2}

ICMP, TCP, UDP = "icmp", "tcp", "udp"
PROTOCOLS = {1: ICMP, 58: ICMP, 6: TCP, 17: UDP}
FIN, SYN, RST, ACK = 1, 2, 4, 16

# kind, code, ident and sequence are ICMP's, from_port, port and flags are TCP's and UDP's, else None
Packet = collections.namedtuple(
    "Packet", "time outgoing version size df fragment source to protocol kind code ident sequence "
    "from_port port flags bytes payload")


def layers(frame):
    """version, size, DF, is a fragment, source, destination, protocol, where its header begins."""
    ethertype = struct.unpack_from("!H", frame, 12)[0] if len(frame) >= 14 else 0
    ip = frame[14:]
    if ethertype == 0x0800 and len(ip) >= 20:
        size, _, flags = struct.unpack_from("!HHH", ip, 2)
        source, to = (socket.inet_ntop(socket.AF_INET, ip[i:i + 4]) for i in (12, 16))
        return (4, size, bool(flags & 0x4000), bool(flags & 0x3FFF), source, to, ip[9],
                (ip[0] & 15) * 4)
    if ethertype == 0x86DD and len(ip) >= 48:
        # a length of 0 is a jumbogram's or a segmenting device's: neither is here
        size = struct.unpack_from("!H", ip, 4)[0] + 40
        source, to = (socket.inet_ntop(socket.AF_INET6, ip[i:i + 16]) for i in (8, 24))
        if ip[6] == 44:
            return 6, size, True, True, source, to, ip[40], 48
        return 6, size, True, False, source, to, ip[6], 40
    return None


def parse(when, outgoing, frame):
    """An IP packet with ICMP, TCP or UDP inside, None for anything else. size is the IP packet's."""
    found = layers(frame)
    if found is None:
        return None
    version, size, df, fragment, source, to, number, start = found
    protocol, ip = PROTOCOLS.get(number), frame[14:]
    if protocol is None or len(ip) < start + 8:
        return None
    kind = code = ident = sequence = from_port = port = flags = None
    payload = start + 8
    if protocol == ICMP:
        kind, code, _, ident, sequence = struct.unpack_from("!BBHHH", ip, start)
    else:
        from_port, port = struct.unpack_from("!HH", ip, start)
        if protocol == TCP and len(ip) >= start + 20:
            flags, payload = ip[start + 13], start + (ip[start + 12] >> 4) * 4
    return Packet(when, outgoing, version, size, df, fragment, source, to, protocol, kind, code,
                  ident, sequence, from_port, port, flags, ip[:600], ip[payload:payload + 64])


def is_probe(packet):
    """What the daemon sends to learn something: an echo, a SYN, a datagram."""
    if packet.protocol == ICMP:
        return packet.kind == ECHO_REQUEST[packet.version]
    return packet.protocol == UDP or packet.flags is not None and packet.flags & (SYN | ACK) == SYN


class Sniffer:
    """Collects what goes over one device. A context manager, or closed by the lab."""

    def __init__(self, lab, space, device):
        self.packets = []
        with space.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        with space.entered():
            self.socket.bind((device, ETH_P_ALL))
        self.ending, self.news = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        lab.stack.callback(self.close)

    @staticmethod
    def _when(more):
        """When the kernel saw it, on the monotonic clock: we may come to read it much later."""
        for level, kind, data in more:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, nanoseconds = struct.unpack("qq", data)
                return time.monotonic() - (time.time() - seconds - nanoseconds / 1e9)
        return time.monotonic()

    def _read(self):
        while not self.ending.is_set():
            if not select.select([self.socket], [], [], 0.1)[0]:
                continue
            frame, more, _, address = self.socket.recvmsg(1 << 16, 64)
            packet = parse(self._when(more), address[2] == OUTGOING, frame)
            if packet:
                self.packets.append(packet)
                self.news.set()

    def close(self):
        self.ending.set()
        self.thread.join(5)
        self.socket.close()

    def dropped(self):
        """Frames that this sniffer missed since it was last asked."""
        # PACKET_STATISTICS
        return struct.unpack("II", self.socket.getsockopt(263, 6, 8))[1]

    def last(self, wanted, deadline=10.0):
        """The last packet that is so; waits for the first one."""
        until = time.monotonic() + deadline
        while time.monotonic() < until:
            found = [p for p in list(self.packets) if wanted(p)]
            if found:
                return found[-1]
            self.news.wait(0.05)
            self.news.clear()
        raise AssertionError("no such packet seen")

    def requests(self, to=None):
        return [p for p in list(self.packets)
                if p.outgoing and p.kind == ECHO_REQUEST[p.version] and (to is None or p.to == to)]

    def probes(self, to, protocol=None):
        return [p for p in list(self.packets) if p.outgoing and p.to == to and is_probe(p)
                and protocol in (None, p.protocol)]


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo(space, to, size, wait=1.0):
    """Whether an echo of this size, DF set, is answered in full."""
    v6 = ":" in to
    family, protocol = (socket.AF_INET6, 58) if v6 else (socket.AF_INET, 1)
    with space.entered():
        sock = socket.socket(family, socket.SOCK_RAW, protocol)
    with sock:
        # IPV6_MTU_DISCOVER, IP_MTU_DISCOVER: PROBE, so that the kernel's memory stays out of it
        sock.setsockopt(*((41, 23) if v6 else (0, 10)), 3)
        ident = secrets.randbelow(65536)
        request = struct.pack("!BBHHH", ECHO_REQUEST[6 if v6 else 4], 0, 0, ident, 1)
        request += bytes(size - len(request) - (40 if v6 else 20))
        if not v6:
            request = request[:2] + struct.pack("!H", checksum(request)) + request[4:]
        until = time.monotonic() + wait
        try:
            sock.sendto(request, (to, 0))
            while select.select([sock], [], [], max(0, until - time.monotonic()))[0]:
                got = sock.recv(1 << 16)[0 if v6 else 20:]
                if got[0] == ECHO_REPLY[6 if v6 else 4] and got[4:6] == request[4:6]:
                    return len(got) == len(request)
        except OSError:  # this host has a word in it too
            pass
    return False


def report(claimed, to, mtu, quoted):
    """Fragmentation Needed or Packet Too Big, as `claimed` would send it."""
    if ":" not in to:
        quote = quoted[:548]
        body = struct.pack("!BBHHH", 3, 4, 0, 0, mtu) + quote
        body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
        addresses = socket.inet_aton(claimed) + socket.inet_aton(to)
        head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 1, 0, 64, 1, 0) + addresses
        head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
        return 0x0800, head + body
    source, target = (socket.inet_pton(socket.AF_INET6, x) for x in (claimed, to))
    body = struct.pack("!BBHI", 2, 0, 0, mtu) + quoted[:1232 - 48]
    pseudo = source + target + struct.pack("!II", len(body), 58)
    body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
    return 0x86DD, struct.pack("!IHBB", 6 << 28, len(body), 58, 64) + source + target + body


def forge(space, device, to_hardware, claimed, to, mtu, quoted):
    """FORGE: puts a hand-made report on the wire of `device`, for the host with this hardware address."""
    ethertype, packet = report(claimed, to, mtu, quoted)
    frame = to_hardware + space.hardware_address(device) + struct.pack("!H", ethertype) + packet
    with space.entered(), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((device, 0))
        sock.send(frame)
