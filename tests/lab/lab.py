# SPDX-License-Identifier: LGPL-2.1-or-later
"""Small networks out of namespaces, one lab a case, all of it gone when the case is over.

It builds and breaks networks; it knows nothing of the daemon and asserts nothing.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import packages  # noqa: E402

CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
# ETHTOOL_STSO, SGSO, SGRO, STXCSUM: a segmenting device hides what a port drops
OFFLOADS = (0x1F, 0x24, 0x2C, 0x17)

libc = ctypes.CDLL(None, use_errno=True)


class LabError(Exception):
    """The network could not be built."""


class Skip(Exception):
    """This machine cannot run the case; the text says why."""


def run(argv, text=None, timeout=60):
    """Runs a command that has to succeed and returns what it printed."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise LabError(f"{' '.join(argv)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def fetched(*names, programs):
    """A folder with these packages (packages.py), "" where their programs are installed."""
    try:
        return packages.fetch(*names, programs=programs)
    except packages.Missing as reason:
        raise Skip(str(reason)) from None


class Namespace:
    """One host, router or switch."""

    def __init__(self, lab, role):
        self.lab = lab
        self.role = role
        self.name = f"{lab.prefix}-{role}"
        run(["ip", "netns", "add", self.name])
        self.ip("link set lo up")
        self.sysctl("net.ipv6.conf.all.accept_dad", 0)
        self.sysctl("net.ipv6.conf.default.accept_dad", 0)
        self.sysctl("net.ipv6.conf.default.router_solicitations", 0)
        for key in ("iptables", "ip6tables", "arptables"):
            with contextlib.suppress(FileNotFoundError):
                self.sysctl(f"net.bridge.bridge-nf-call-{key}", 0)

    @contextlib.contextmanager
    def entered(self):
        """Sockets made inside belong to this namespace, wherever they are used."""
        with open("/proc/thread-self/ns/net", "rb") as before, \
                open(f"/run/netns/{self.name}", "rb") as inside:
            if libc.setns(inside.fileno(), CLONE_NEWNET) != 0:
                raise LabError(f"setns {self.name}: {os.strerror(ctypes.get_errno())}")
            try:
                yield
            finally:
                libc.setns(before.fileno(), CLONE_NEWNET)

    def command(self, *argv):
        return ["ip", "netns", "exec", self.name, *argv]

    def ip(self, line):
        return run(["ip", "-n", self.name, *line.split()])

    def batch(self, lines):
        run(["ip", "-n", self.name, "-batch", "-"], text="\n".join(lines) + "\n")

    def sysctl(self, key, value):
        # slashes first: a link's name may hold a dot
        path = key if "/" in key else key.replace(".", "/")
        with self.entered(), open(f"/proc/sys/{path}", "w", encoding="ascii") as file:
            file.write(str(value))

    def address(self, device, *addresses):
        for address in addresses:
            flags = " nodad" if ":" in address else ""
            self.ip(f"address add {address} dev {device}{flags}")

    def route(self, line):
        self.ip(("-6 " if ":" in line else "") + f"route {line}")

    def mtu(self, device, mtu):
        self.ip(f"link set {device} mtu {mtu}")

    def up(self, device):
        self.ip(f"link set {device} up")

    def down(self, device):
        self.ip(f"link set {device} down")

    def hardware_address(self, device):
        with self.entered():
            return _hardware_address(device)

    def offloads_off(self, device):
        with self.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for command in OFFLOADS:
                value = ctypes.create_string_buffer(struct.pack("II", command, 0))
                request = struct.pack("16sP", device.encode(), ctypes.addressof(value))
                with contextlib.suppress(OSError):
                    fcntl.ioctl(sock, SIOCETHTOOL, request)

    # packet filters: one table for one thing, so that it can be taken away again

    def filter(self, table, rules, hook="prerouting", priority=-300, family="inet"):
        self.nft(f"table {family} {table} {{\n"
                 f"\tchain {hook} {{\n"
                 f"\t\ttype filter hook {hook} priority {priority}; policy accept;\n"
                 + "".join(f"\t\t{rule}\n" for rule in rules) +
                 "\t}\n}\n")

    def unfilter(self, table, family="inet"):
        self.nft(f"delete table {family} {table}\n")

    def nft(self, text):
        run(self.command("nft", "-f", "-"), text=text)

    def drop_above(self, size, device, table="above", family="inet"):
        """DROP>(size): silent, one direction, exact."""
        self.filter(table, [f'iifname "{device}" meta length > {size} drop'], family=family)

    def no_reports(self, hook="output", table="noptb"):
        """NOPTB: neither Fragmentation Needed nor Packet Too Big gets out (or in)."""
        self.filter(table, ["icmp type destination-unreachable icmp code frag-needed drop",
                            "icmpv6 type packet-too-big drop"], hook=hook, priority=0)

    def listens(self, port):
        """Whether something has this UDP port."""
        return bool(run(self.command("ss", "-Hanu", f"sport = :{port}")).strip())

    def half_open(self):
        """TCP connections that somebody began to open here."""
        return run(self.command("ss", "-Hant", "state", "syn-recv")).splitlines()

    def forwarding(self):
        self.sysctl("net.ipv4.ip_forward", 1)
        self.sysctl("net.ipv6.conf.all.forwarding", 1)


def _hardware_address(device):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        reply = fcntl.ioctl(sock, 0x8927, struct.pack("256s", device.encode()))  # SIOCGIFHWADDR
    return reply[18:24]


class Lab:
    """The networks of one case, a context manager."""

    def __init__(self, name="x"):
        self.name = name
        self.prefix = f"mw{os.getpid()}"
        self.spaces = {}
        self.with_offloads = False
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        if os.geteuid() != 0:
            raise Skip("network namespaces need root")
        self.directory = tempfile.mkdtemp(prefix=f"{self.prefix}-")
        os.chmod(self.directory, 0o755)
        self.stack.callback(shutil.rmtree, self.directory, ignore_errors=True)
        self.stack.callback(sweep, self.prefix)
        return self

    def __exit__(self, *error):
        self.stack.close()
        return False

    def space(self, role, router=False):
        space = self.spaces[role] = Namespace(self, role)
        if router:
            space.forwarding()
        return space

    def switch(self, role):
        space = self.space(role)
        space.ip("link add br0 type bridge forward_delay 0 mcast_snooping 0")
        space.sysctl("net.ipv6.conf.default.disable_ipv6", 1)
        space.up("br0")
        return space

    def link(self, a, a_device, b, b_device, mtu=1500, b_mtu=None, up=True):
        """A cable: a veth pair with both ends up."""
        run(["ip", "link", "add", a_device, "mtu", str(mtu), "netns", a.name, "type", "veth",
             "peer", "name", b_device, "mtu", str(b_mtu or mtu), "netns", b.name])
        for space, device in ((a, a_device), (b, b_device)):
            if not self.with_offloads:
                space.offloads_off(device)
            if "br0" in space.ip("-br link show type bridge") and space.role.startswith("S"):
                space.ip(f"link set {device} master br0")
            if up:
                space.up(device)

    def hosts_file(self, space, lines):
        """What programs of this host read as /etc/hosts; may be called again."""
        directory = f"/etc/netns/{space.name}"
        os.makedirs(directory, exist_ok=True)
        # the same inode: a file that was bound over /etc/hosts is not followed to a new one
        with open(f"{directory}/hosts", "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n" + "".join(line + "\n" for line in lines))


def sweep(prefix):
    """Removes every namespace of this prefix and ends what still runs inside. Returns their names."""
    swept = []
    for line in run(["ip", "netns", "list"]).splitlines():
        name = line.split()[0] if line else ""
        if not name.startswith(f"{prefix}-"):
            continue
        swept.append(name)
        with contextlib.suppress(LabError):
            for pid in run(["ip", "netns", "pids", name]).split():
                with contextlib.suppress(ProcessLookupError):
                    if int(pid) != os.getpid():
                        os.kill(int(pid), signal.SIGKILL)
            run(["ip", "netns", "delete", name])
        shutil.rmtree(f"/etc/netns/{name}", ignore_errors=True)
    with contextlib.suppress(OSError):
        os.rmdir("/etc/netns")
    return swept
