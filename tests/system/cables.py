# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cases about the other end of a cable: a real systemd-networkd, and a real lldpd, inside the sandbox
of the service. The switch speaks LLDP by frames made here."""

import os
import shutil
import struct
import subprocess

from world import (Skip, bus_call, bus_property, drop_in_clear, drop_in_set, expect,
                   expect_equal, file_write, journal_mark, journal_records, journal_wait,
                   journal_wait_text, run, service_watching, switch_port_set, unit_pid, wait_for)

NETWORKD = "/lib/systemd/systemd-networkd"
NETWORK = "/run/systemd/network/10-eth1.network"


def tlv(kind, value):
    return struct.pack("!H", kind << 9 | len(value)) + value


def frame(ttl):
    return (bytes.fromhex("0180c200000e02000000000188cc") + tlv(1, b"\x07chassis") +
            tlv(2, b"\x05Eth1/7") + tlv(3, struct.pack("!H", ttl)) + tlv(5, b"sw1") +
            tlv(7, b"\0\x04\0\x04") + tlv(127, b"\x00\x12\x0f\x04" + struct.pack("!H", 9216)) +
            tlv(0, b""))


SENDER = """
import socket, sys, time
sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sock.bind(("port-a", 0))
while True:
    sock.send(bytes.fromhex(sys.argv[1]))
    time.sleep(0.3)
"""


class Switch:
    """Says who it is, again and again, until it is told to stop; then says goodbye."""

    def __enter__(self):
        self.process = subprocess.Popen(["ip", "netns", "exec", "switch", "python3", "-c", SENDER,
                                         frame(30).hex()])
        return self

    def goodbye(self):
        self.process.terminate()
        self.process.wait()
        subprocess.run(["ip", "netns", "exec", "switch", "timeout", "1", "python3", "-c", SENDER,
                        frame(0).hex()], check=False)

    def __exit__(self, *_exception):
        self.process.terminate()
        self.process.wait()


def link_property(name):
    path = next(path for link, _mtu, path, _severity in bus_call("ListLinks")[0] if link == "eth1")
    return bus_property(path, "org.mtuwatch1.Link", name)


def neighbour_wait(text):
    wait_for(f"neighbour {text!r}", lambda: link_property("Neighbour") == text, 60)


def case_networkd_neighbour():
    """LLDP=yes in networkd: the switch and its port are named, until it says goodbye"""
    if not os.path.exists(NETWORKD):
        raise Skip("no systemd-networkd here")
    file_write(NETWORK, "[Match]\nName=eth1\n[Network]\nLLDP=yes\n"
                        "LinkLocalAddressing=no\nIPv6AcceptRA=no\nKeepConfiguration=yes\n")
    run("systemctl", "start", "systemd-networkd.service")
    try:
        with Switch() as switch:
            wait_for("networkd's record", lambda: os.listdir("/run/systemd/netif/lldp"))
            service_watching()
            neighbour_wait("sw1 Eth1/7")
            expect_equal("NeighbourMaxFrame", link_property("NeighbourMaxFrame"), 9216)
            expect_equal("Findings", link_property("Findings"), [])
            mark = journal_mark()
            switch_port_set(1500)
            record = journal_wait(mark, "the fault in the journal", MTUWATCH_VERDICT="black-hole")
            expect("(on-link, behind switch sw1 port Eth1/7)" in record["MESSAGE"],
                   record["MESSAGE"])
            expect_equal("locus", record["MTUWATCH_LOCUS"], "on-link")
            switch_port_set(9000)
            switch.goodbye()
            neighbour_wait("")
    finally:
        run("systemctl", "stop", "systemd-networkd.service", "systemd-networkd.socket")
        os.unlink(NETWORK)


def case_lldpd_neighbour():
    """lldpd: its closed socket is told of once, and with its group the switch is named"""
    if not shutil.which("lldpd"):
        raise Skip("no lldpd here")
    service_watching()
    with open(f"/proc/{unit_pid()}/exe", "rb") as program:
        if b"lldpctl_new_name" not in program.read():
            raise Skip("built without lldpd")
    run("systemctl", "start", "lldpd.service")
    try:
        with Switch():
            mark = journal_mark()
            service_watching()
            journal_wait_text(mark, "its socket is closed to this user", 40)
            expect_equal("Neighbour", link_property("Neighbour"), "")
            drop_in_set("[Service]\nSupplementaryGroups=_lldpd\n")
            service_watching()
            neighbour_wait("sw1 Eth1/7")
            expect_equal("NeighbourMaxFrame", link_property("NeighbourMaxFrame"), 9216)
            mark = journal_mark()
            run("systemctl", "stop", "lldpd.service")
            neighbour_wait("")
            spoken = [record["MESSAGE"] for record in journal_records(mark)]
            expect(not spoken, f"the journal has {spoken}")
    finally:
        run("systemctl", "stop", "lldpd.service")
        drop_in_clear()


CASES = (case_networkd_neighbour, case_lldpd_neighbour)
