# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the cases of inside.py work with: a peer behind a switch, the service, the bus, the journal.

Nothing here waits a fixed time: wait_for() polls for a property until a deadline.
"""

import json
import os
import stat
import subprocess
import threading
import time

UNIT = "mtuwatchd.service"
CONFIG = "/etc/mtuwatchd/mtuwatchd.conf"
DROP_IN = "/run/systemd/system/mtuwatchd.service.d/test.conf"
BUS = "org.mtuwatch1"
MANAGER = ("org.mtuwatch1", "/org/mtuwatch1", "org.mtuwatch1.Manager")
LINK_MTU = 9000

BASE_CONFIG = """\
[Daemon]
Interval=1s
Timeout=300ms
Discover=none

[Peer san]
Address=192.0.2.10
"""

STORAGE_CONFIG = """\
[Daemon]
Interval=1s
Timeout=300ms
Discover=storage
"""

# What the kernel makes of it is a GlusterFS mount by root; nobody is behind it.
STORAGE_MOUNT = """\
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(sys.argv[1].encode(), sys.argv[2].encode(), b"fuse.glusterfs", 0, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
"""


class Failure(Exception):
    pass


class Skip(Exception):
    """This machine lacks what the case needs; the text says what."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def expect_equal(what, seen, wanted):
    expect(seen == wanted, f"{what}: {seen!r} instead of {wanted!r}")


def run(*command, timeout=90):
    """The output of a command that must work."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout, check=False)
    expect(done.returncode == 0,
           f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def refused(*command, timeout=90):
    """The complaint of a command that must not work."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=timeout, check=False)
    expect(done.returncode != 0, f"{' '.join(command)} worked: {done.stdout.strip()}")
    return done.stderr


def expect_not_let(complaint):
    """It was refused for who asked: by polkit, or since a password would have to be asked for."""
    expect("denied" in complaint or "a password has to be asked for" in complaint, complaint)


def wait_for(what, probe, seconds=20):
    """Polls until probe() returns something true, and returns that."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            seen = probe()
        except Failure as failure:
            seen, last = None, str(failure)
        else:
            last = repr(seen)
        if seen:
            return seen
        expect(time.monotonic() < deadline, f"{what}: not within {seconds} s (last seen: {last})")
        time.sleep(0.05)


# ---- the network: eth1 here - port-a [switch] port-b - eth0 [san]

def network_make():
    for name in ("switch", "san"):
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    run("ip", "link", "add", "eth1", "mtu", str(LINK_MTU), "type", "veth",
        "peer", "name", "port-a", "mtu", str(LINK_MTU), "netns", "switch")
    run("ip", "-n", "switch", "link", "add", "port-b", "mtu", str(LINK_MTU), "type", "veth",
        "peer", "name", "eth0", "mtu", str(LINK_MTU), "netns", "san")
    run("ip", "-n", "switch", "link", "add", "br0", "type", "bridge")
    for table in ("iptables", "ip6tables"):
        # Where br_netfilter is there, the bridge would fragment and refuse like a router.
        subprocess.run(["ip", "netns", "exec", "switch", "sysctl", "-qw",
                        f"net.bridge.bridge-nf-call-{table}=0"], check=False,
                       stderr=subprocess.DEVNULL)
    for port in ("port-a", "port-b"):
        run("ip", "-n", "switch", "link", "set", port, "master", "br0", "up")
    run("ip", "-n", "switch", "link", "set", "br0", "mtu", str(LINK_MTU), "up")
    run("ip", "addr", "add", "192.0.2.1/24", "dev", "eth1")
    run("ip", "link", "set", "eth1", "up")
    for address in ("192.0.2.10/24", "192.0.2.11/24"):
        run("ip", "-n", "san", "addr", "add", address, "dev", "eth0")
    run("ip", "-n", "san", "link", "set", "eth0", "up")


def switch_port_set(mtu):
    """The switch drops what is larger, silently. A bridge port passes four bytes more than its MTU,
    the room for a VLAN tag."""
    run("ip", "-n", "switch", "link", "set", "port-b", "mtu",
        str(mtu if mtu == LINK_MTU else mtu - 4))


# ---- storage

def need_fuse():
    """Skips the case where there is none; the container's /dev alone may lack it."""
    if not os.path.exists("/dev/fuse"):
        os.mknod("/dev/fuse", 0o600 | stat.S_IFCHR, os.makedev(10, 229))
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise Skip(f"needs FUSE: {error.strerror}") from None


def storage_mount(source, place):
    os.makedirs(place, exist_ok=True)
    run("python3", "-c", STORAGE_MOUNT, source, place)


# ---- the service

def file_write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def unit_property(name):
    return run("systemctl", "show", "--value", "-p", name, UNIT).strip()


def unit_pid():
    pid = int(unit_property("MainPID"))
    expect(pid > 0, "the service has no main process")
    return pid


def unit_wait(state, seconds=20):
    wait_for(f"service {state}", lambda: unit_property("ActiveState") == state, seconds)


def drop_in_set(text):
    file_write(DROP_IN, text)
    run("systemctl", "daemon-reload")


def drop_in_clear():
    if os.path.exists(DROP_IN):
        os.unlink(DROP_IN)
        run("systemctl", "daemon-reload")


def service_fresh(config=BASE_CONFIG):
    """A restarted service with this configuration over a healthy network."""
    switch_port_set(LINK_MTU)
    file_write(CONFIG, config)
    subprocess.run(["systemctl", "reset-failed", UNIT], check=False, stderr=subprocess.DEVNULL)
    run("systemctl", "restart", UNIT)
    unit_wait("active")


def service_watching():
    """A fresh service that has found its peer consistent."""
    service_fresh()
    wait_for("san consistent", lambda: peer_property("san", "Verdict") == "consistent", 12)


# ---- the bus

def bus_call(*arguments, target=MANAGER):
    reply = run("busctl", "--json=short", "--timeout=60", "call", *target, *arguments)
    return json.loads(reply)["data"] if reply.strip() else None


def bus_error(method, *arguments):
    """Name and text of the error that a Manager method answers with."""
    service, path, interface = MANAGER
    return refused("dbus-send", "--system", "--print-reply", "--reply-timeout=60000",
                   f"--dest={service}", path, f"{interface}.{method}", *arguments)


def bus_name_owned():
    owned = bus_call("NameHasOwner", "s", BUS,
                     target=("org.freedesktop.DBus", "/org/freedesktop/DBus",
                             "org.freedesktop.DBus"))
    return owned[0]


def bus_introspect(path, interface):
    """Names of all members of an interface."""
    lines = run("busctl", "introspect", BUS, path, interface).splitlines()[1:]
    return {line.split()[0].lstrip(".") for line in lines if line.startswith(".")}


def bus_property(path, interface, name):
    reply = run("busctl", "--json=short", "get-property", BUS, path, interface, name)
    return json.loads(reply)["data"]


def peer_path(name):
    for peer, path, _verdict in bus_call("ListPeers")[0]:
        if peer == name:
            return path
    raise Failure(f"no peer {name} on the bus")


def peer_names():
    return sorted(peer for peer, _path, _verdict in bus_call("ListPeers")[0])


def peer_property(name, key):
    return bus_property(peer_path(name), "org.mtuwatch1.Peer", key)


def peer_check(name):
    """Check's dictionary with plain values."""
    return {key: value["data"] for key, value in bus_call("Check", "s", name)[0].items()}


class BusMonitor:
    """Signals that match a rule, from when it is made until the end of the with block."""

    def __init__(self, rule):
        self.messages = []
        self.ready = threading.Event()
        self.process = subprocess.Popen(
            ["busctl", "monitor", "--json=short", f"--match={rule}"], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.messages.append(json.loads(line))
            elif line.startswith("Monitoring"):
                self.ready.set()

    def __enter__(self):
        expect(self.ready.wait(10), "busctl monitor did not start")
        return self

    def __exit__(self, *_exception):
        self.process.terminate()
        self.process.wait()


# ---- the journal

def journal_mark():
    """Where the journal ends now."""
    last = run("journalctl", "-q", "-n", "1", "-o", "json", "--output-fields=MESSAGE")
    return json.loads(last)["__CURSOR"]


def journal_all(mark):
    # Filtered here: journalctl 252 loses the first match behind a cursor that is itself no match.
    lines = run("journalctl", "-q", "-o", "json", f"--after-cursor={mark}")
    return [json.loads(line) for line in lines.splitlines()]


def journal_records(mark):
    """What the daemon said since the mark."""
    return [record for record in journal_all(mark) if record.get("_SYSTEMD_UNIT") == UNIT]


def journal_about(mark):
    """What systemd said about the service since the mark."""
    return [record for record in journal_all(mark) if record.get("UNIT") == UNIT]


def journal_wait(mark, what, seconds=40, **fields):
    """The first record after the mark that has these fields."""
    def found():
        return next((record for record in journal_records(mark)
                     if all(record.get(key) == value for key, value in fields.items())), None)
    return wait_for(what, found, seconds)


def journal_wait_text(mark, text, seconds=20):
    def found():
        return next((record for record in journal_records(mark)
                     if text in str(record.get("MESSAGE"))), None)
    return wait_for(f"journal says {text!r}", found, seconds)


def journal_explained(record):
    """What journalctl -x says of the last record of this kind."""
    return run("journalctl", "-q", "-x", "-n", "1", f"MESSAGE_ID={record['MESSAGE_ID']}")
