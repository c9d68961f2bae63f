# SPDX-License-Identifier: LGPL-2.1-or-later
"""What is plugged in at the other end of the cable: a real lldpd at each end of it."""

import os
import shutil
import socket
import struct
import subprocess

from cases import black_hole, case, consistent, equal, findings, one_alert, silent, start
from daemon import BINARY, config, end
from lab import Skip
from topology import B, limit, switched

MAX_FRAME_TLV = "configure lldp custom-tlv oui 00,12,0f subtype 4 oui-info {:02x},{:02x}\n"
GROUP = bytes.fromhex("0180c200000e")


class Lldpd:
    """An lldpd of its own in a namespace, with its own /run. The machine's own is left alone."""

    def __init__(self, network, space, commands="", name="system"):
        if not shutil.which("lldpd"):
            raise Skip("no lldpd here")
        folder = os.path.join(network.directory, f"lldpd-{space.role}")
        self.socket = os.path.join(folder, "socket")
        os.mkdir(folder)
        file = os.path.join(folder, "lldpd.conf")
        with open(file, "w", encoding="ascii") as out:
            out.write(f"configure system hostname {name}\nconfigure lldp tx-interval 1\n{commands}")
        # its privileged half makes a chroot in /run, and would take its pid file there
        script = "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/lldpd && exec \"$@\""
        self.process = subprocess.Popen(
            space.command("sh", "-c", script, "sh", "lldpd", "-d", "-u", self.socket, "-O", file),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        network.stack.callback(self.stop)

    def stop(self):
        if self.process is not None:
            end(self.process)
            self.process = None


def listening(network, space):
    """The host's lldpd; its socket is where the daemon looks for it."""
    return Lldpd(network, space).socket


def tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value


def frame(chassis, port, *rest, ttl=30):
    """An LLDP frame as anybody on the cable may send it."""
    return (GROUP + b"\x02\0\0\0\0\x01" + b"\x88\xcc" + tlv(1, b"\x07" + chassis) +
            tlv(2, b"\x05" + port) + tlv(3, struct.pack("!H", ttl)) + b"".join(rest) + tlv(0, b""))


def send(space, device, data):
    with space.entered():
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    with sock:
        sock.bind((device, 0))
        sock.send(data)


@case("cable", "the switch and its port are named where a fault is on the link")
def named(network):
    a, _, s1 = switched(network, 9000)
    host = listening(network, a)
    switch = Lldpd(network, s1, "configure lldp portidsubtype local Eth1/7 description x\n" +
                   MAX_FRAME_TLV.format(1518 >> 8, 1518 & 255), name="sw1")
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}), lldpd=host)
    consistent(daemon, "b", 9000)
    daemon.wait_link("eth0", Neighbour="sw1 Eth1/7", NeighbourMaxFrame=1518)
    # packets of 9000 pass: what the switch announces is wrong, and nobody is told of it
    daemon.rounds("b", 15, Verdict="consistent")
    equal("findings", daemon.link("eth0")["Findings"], [])
    silent(daemon)

    limit(s1, 1500)
    state = black_hole(daemon, "b", 1500)
    equal("Locus", state["Locus"], "on-link")
    one_alert(daemon, "b", "black-hole")
    message = daemon.alerts("b")[0]["MESSAGE"]
    assert "(on-link, behind switch sw1 port Eth1/7)" in message, message
    equal("MTUWATCH_LOCUS", daemon.alerts("b")[0]["MTUWATCH_LOCUS"], "on-link")
    said = daemon.wait("the notice", lambda: findings(daemon.link("eth0"),
                                                      "neighbour-frame-smaller"))
    equal("severity", said[0][1], "notice")
    assert "1518" in said[0][2] and "9018" in said[0][2], said
    status, out, _ = daemon.once("--once", B["ipv4"])
    equal("exit status", status, 2)
    out = " ".join(out.split())
    assert "first at switch sw1 port Eth1/7 (it announces frames of at most 1518 bytes)" in out, out

    switch.stop()  # it says goodbye
    daemon.wait_link("eth0", Neighbour="", NeighbourMaxFrame=0, Findings=[])


@case("cable text", "what comes over the cable steers nobody's terminal")
def hostile(network):
    a, _, s1 = switched(network, 1500)
    host = listening(network, a)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}), lldpd=host)
    consistent(daemon, "b", 1500)

    def seen(*rest, chassis=b"c", port=b"p"):
        def ready():
            send(s1, "pa", frame(chassis, port, *rest))
            return daemon.link("eth0")["Neighbour"]
        return daemon.wait("a neighbour", ready)
    text = seen(tlv(5, b"\x1b[2J\nsw\xff\xe2\x80\xae" + b"x" * 200), port=b"\x07p\\")
    assert text.isprintable() and text.isascii(), repr(text)
    assert "\\x1b[2J\\x0asw\\xff\\xe2\\x80\\xae" in text and "..." in text, text
    assert len(text) < 130, len(text)
    document = daemon.describe()
    assert "\x1b" not in str(document), document
    silent(daemon)


@case("cable lldpd", "an lldpd that comes later, and goes without a word")
def comes_and_goes(network):
    a, _, s1 = switched(network, 1500)
    Lldpd(network, s1, name="sw1")
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}),
                   lldpd=os.path.join(network.directory, f"lldpd-{a.role}", "socket"))
    consistent(daemon, "b", 1500)
    equal("Neighbour", daemon.link("eth0")["Neighbour"], "")
    host = Lldpd(network, a)
    daemon.wait_link("eth0", Neighbour=lambda text: text.startswith("sw1 "))
    host.stop()
    daemon.wait_link("eth0", Neighbour="")
    silent(daemon)


@case("inbound", "a card counts frames that are too long for its link")
def inbound(network):
    built = os.path.join(os.path.dirname(BINARY), "..", "tests", "lab", "nic.so")
    shim = os.path.abspath(os.environ.get("LAB_NIC", built))
    if not os.path.exists(shim):
        raise Skip("no virtual link counts such frames, and the card that seems to is not built")
    counter = os.path.join(network.directory, "counter")

    def count(number):
        with open(counter + ".new", "w", encoding="ascii") as file:
            file.write(f"{number}\n")
        os.rename(counter + ".new", counter)
    count(1000)
    a, _, _ = switched(network, 1500)
    daemon = start(network, a, config({"b": {"Address": B["ipv4"]}}),
                   variables={"LD_PRELOAD": shim, "NIC_COUNTER": counter,
                              "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
    consistent(daemon, "b", 1500)
    # what was counted before is nobody's fault now, however long it is looked at
    daemon.rounds("b", 15, Verdict="consistent")
    equal("findings", daemon.link("eth0")["Findings"], [])
    silent(daemon)

    numbers = iter(range(1100, 10**9, 100))

    def found():
        count(next(numbers))
        return findings(daemon.link("eth0"), "inbound-oversize")
    said = daemon.wait("the finding", found, 90)
    equal("severity", said[0][1], "warning")
    assert "eth0" in said[0][2] and "rx_oversize.nic" in said[0][2], said
    assert " a second" in said[0][2] and "ip link show dev eth0" in said[0][3], said
    record, = daemon.wait("the record", lambda: daemon.told(MTUWATCH_FINDING="inbound-oversize"))
    equal("MTUWATCH_LINK", record["MTUWATCH_LINK"], "eth0")
    equal("PRIORITY", record["PRIORITY"], "4")
    equal("verdict", daemon.peer("b")["Verdict"], "consistent")
    # numbers that go on rising are no news
    until = daemon.peer("b")["Rounds"] + 12
    daemon.wait("more rounds", lambda: count(next(numbers)) or
                daemon.peer("b")["Rounds"] >= until)
    equal("records", len(daemon.told(MTUWATCH_FINDING="inbound-oversize")), 1)
