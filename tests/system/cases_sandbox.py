# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cases about the sandbox as it is shipped: every feature works within it, and each directive keeps away
what it is there for. What other cases try within it anyway is not tried here once more."""

import json
import os
import socket
import stat
import subprocess

from world import (BASE_CONFIG, LINK_MTU, UNIT, bus_call, expect, expect_equal, file_write,
                   run, service_fresh, unit_property, wait_for)

PROGRAM = "/var/lib/mtuwatchd-test/forbidden.py"
COPY = "mtuwatchd-sandbox.service"
COPIES = "/run/systemd/system"
RESULT = "/run/mtuwatchd-sandbox.json"
ZONE = "fe80::10%eth1"

# A peer for each way of asking, all of them the same host; the names come from two places.
PEERS = {
    "icmp": ("192.0.2.10", "Method=icmp"), "icmp6": ("2001:db8::10", "Method=icmp"),
    "tcp": ("192.0.2.10", "Method=tcp\nPort=22\nFlows=4"), "tcp6": ("2001:db8::10", "Method=tcp\nPort=22"),
    "udp": ("192.0.2.10", "Method=udp\nFlows=2"), "udp6": ("2001:db8::10", "Method=udp"),
    "responder": ("192.0.2.10", "Method=responder"), "responder6": ("2001:db8::10", "Method=responder"),
    "bound": ("192.0.2.10", "Interface=eth1\nSource=192.0.2.1\nMethod=icmp"),
    "zone": (ZONE, "Method=icmp"),
    "hosts": ("san-by-file", "Family=ipv4\nMethod=icmp"),
    "dns": ("san.example", "Family=ipv4\nMethod=icmp"),
}
CONFIG_ALL = BASE_CONFIG.split("[Peer")[0].replace("Discover=none", "Discover=storage") + \
    "Responder=yes\n" + "".join(f"\n[Peer {name}]\nAddress={address}\n{more}\n"
                                for name, (address, more) in PEERS.items())

# Answers each question for an A record with the peer's address, others with no data (RFC 1035 section 4).
NAME_SERVER = '''
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("192.0.2.10", 53))
    print("ready", flush=True)
    while True:
        question, client = server.recvfrom(512)
        end = question.index(b"\\0", 12) + 5
        wanted = question[end - 4:end - 2] == b"\\0\\1"
        answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4" + socket.inet_aton("192.0.2.10")
        server.sendto(question[:2] + b"\\x85\\x80\\0\\1\\0" + bytes([wanted]) + b"\\0\\0\\0\\0" +
                      question[12:end] + (answer if wanted else b""), client)
'''
STORAGE_SERVER = '''
import socket
with socket.create_server(("192.0.2.12", 3260)) as listener:
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.recv(1)
'''


class At:
    """A program at the peer's, there when this is entered."""

    def __init__(self, *command, text=""):
        self.command = ["ip", "netns", "exec", "san", *command, *([text] if text else [])]
        self.says_ready = bool(text)

    def __enter__(self):
        # another host has no part in this one's bus: a daemon there must not take the name here
        elsewhere = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nonexistent")
        self.process = subprocess.Popen(self.command, text=True, stdin=subprocess.DEVNULL, env=elsewhere,
                                        stdout=subprocess.PIPE if self.says_ready
                                        else subprocess.DEVNULL)
        if self.says_ready:
            expect_equal("the program", self.process.stdout.readline(), "ready\n")
        return self

    def __exit__(self, *_exception):
        self.process.terminate()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


ADDRESSES = ((), "eth1", "2001:db8::1/64"), ((), "eth1", "fe80::1/64"), \
    (("-n", "san"), "eth0", "2001:db8::10/64"), (("-n", "san"), "eth0", "fe80::10/64"), \
    (("-n", "san"), "eth0", "192.0.2.12/24")


def network_extend():
    """IPv6 and storage at the peer's, which the other cases do without."""
    for space, device, address in ADDRESSES:
        run("ip", *space, "addr", "add", address, "dev", device, *(["nodad"] if ":" in address else []))


def network_restore():
    for space, device, address in ADDRESSES:
        run("ip", *space, "addr", "del", address, "dev", device)


def name_files(path):
    """A file of the host's, and what was in it (None: it is not there)."""
    if not os.path.exists(path):
        return path, None
    with open(path, encoding="utf-8") as file:
        return path, file.read()


def name_files_restore(files):
    for path, text in files:
        if text is None:
            os.unlink(path)
        else:
            file_write(path, text)


def peers_seen():
    """All peers at once, with all their properties."""
    return {peer["Name"]: peer for peer in json.loads(bus_call("Describe")[0])["Peers"]}


def whole(peer):
    return (peer["Verdict"], peer["PathMTU"]) == ("consistent", LINK_MTU)


def features_expect():
    """Peers of the configuration, and those found by their connection and by the cluster's file."""
    names = [*PEERS, "corosync-192.0.2.11", "iscsi-192.0.2.12"]
    seen = wait_for("all peers consistent", lambda: (peers := peers_seen()) and all(
        name in peers and whole(peers[name]) for name in names) and peers, 60)
    for name in PEERS:
        wanted = name.rstrip("6")
        if wanted in ("icmp", "tcp", "udp", "responder"):
            expect_equal(f"method of {name}", seen[name]["Method"], wanted)
    for name in ("hosts", "dns"):
        expect_equal(f"address of {name}", seen[name]["Address"], "192.0.2.10")


def responder_expect():
    """The peer's daemon asks this one."""
    run("ip", "netns", "exec", "san", "mtuwatchd", "--once", "--method=responder", "--expect",
        str(LINK_MTU), "192.0.2.1", "2001:db8::1")


def case_features_sandboxed():
    """all methods, responder, names, storage by connection and cluster, within the sandbox"""
    files = [name_files("/etc/hosts"), name_files("/etc/resolv.conf"),
             name_files("/etc/corosync/corosync.conf")]
    network_extend()
    file_write("/run/san.conf", "[Daemon]\nDiscover=none\nResponder=yes\n")
    try:
        file_write("/etc/hosts", "127.0.0.1 localhost\n192.0.2.10 san-by-file\n")
        file_write("/etc/resolv.conf", "nameserver 192.0.2.10\n")
        file_write("/etc/corosync/corosync.conf", "nodelist {\n node {\n  ring0_addr: 192.0.2.11\n }\n}\n")
        with At("mtuwatchd", "--config", "/run/san.conf"), \
                At("python3", "-c", text=NAME_SERVER), At("python3", "-c", text=STORAGE_SERVER):
            with socket.create_connection(("192.0.2.12", 3260)):
                service_fresh(CONFIG_ALL)
                features_expect()
            responder_expect()
        denied = run("journalctl", "-q", "-u", UNIT, "--since=-2min", "-o", "cat")
        expect("not permitted" not in denied and "ermission denied" not in denied, denied)
    finally:
        name_files_restore(files)
        network_restore()


# --- what is forbidden

def unit_text():
    with open(unit_property("FragmentPath"), encoding="utf-8") as file:
        return file.read()


def copy_make(lines):
    """The service as it is shipped, but for the program; root's, so that no file's mode refuses what a
    directive shall, but not of its group, which sees all processes."""
    ours = ("Type=", "NotifyAccess=", "BusName=", "ExecStart=", "ExecReload=", "WatchdogSec=", "Restart",
            "User=", "AmbientCapabilities=")
    kept = [line for line in lines if not line.startswith(ours)]
    kept.insert(kept.index("[Service]") + 1, "Type=oneshot\nUser=root\nGroup=nogroup\n"
                f"ExecStart=/usr/bin/python3 -B {PROGRAM}\nStandardOutput=truncate:{RESULT}")
    file_write(os.path.join(COPIES, COPY), "\n".join(kept).split("[Install]")[0])
    run("systemctl", "daemon-reload")


def tried():
    run("systemctl", "start", COPY)
    with open(RESULT, encoding="utf-8") as file:
        return json.load(file)


def device_make(path):
    if not os.path.exists(path):
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))


def case_directives_in_force():
    """each directive keeps away what it is there for, which root may do without it"""
    service_fresh()
    text = unit_text().splitlines()
    device_make("/dev/mtuwatchd-forbidden")
    device_make("/dev/kmsg")
    file_write("/tmp/mtuwatchd-forbidden", "")
    try:
        copy_make([line for line in text if not line.strip() or line.startswith("[")])
        outside = tried()
        copy_make(text)
        inside = tried()
    finally:
        os.unlink(os.path.join(COPIES, COPY))
        os.unlink("/dev/mtuwatchd-forbidden")
        os.unlink("/tmp/mtuwatchd-forbidden")
        run("systemctl", "daemon-reload")
    for name, came in inside["tries"].items():
        expect(came != "ok", f"{name}: it is possible")
        if outside["tries"][name] == came:
            print(f"# not shown here, where nobody may: {name} ({came})")
    for name, came in inside["allowed"].items():
        expect_equal(name, came, "ok")
    expect_equal("status", inside["status"],
                 {"CapBnd": f"{1 << 13:016x}", "NoNewPrivs": "1", "Seccomp": "2"})
    expect_equal("umask", inside["umask"], "0077")
    expect(inside["mounts"] != os.readlink("/proc/self/ns/mnt"), "no mount namespace of its own")


CASES = (case_features_sandboxed, case_directives_in_force)
