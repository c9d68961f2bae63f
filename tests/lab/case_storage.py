# SPDX-License-Identifier: LGPL-2.1-or-later
"""Peers of the storage this host uses: found, named, retired; and what nobody may plant.

GlusterFS mounts are real ones (FUSE). File systems and devices that this kernel may lack are read from a
mount table and a sysfs of the daemon's own, laid over the real ones in its mount namespace.
"""

import json
import os
import resource
import shutil
import socket
import subprocess
import time

from cases import black_hole, case, consistent, equal, never, one_alert, silent, start
from daemon import PATIENCE, Daemon, config, end
from lab import Skip
from topology import A, B, FAMILIES, R1, direct, limit, routed, switched

MOUNT = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
source, target, user = sys.argv[1:]
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id={user},group_id={user}"
if libc.mount(os.fsencode(source), target.encode(), b"fuse.glusterfs", 0, options.encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
"""


class Host(Daemon):
    """The daemon with a mount namespace that the case can change, before it starts and later."""

    before = ""

    def shell(self, *arguments):
        words = super().shell(*arguments)
        place = words.index("-c") + 1
        words[place] = self.before + words[place]
        return words

    def inside(self, *words):
        # its root as well: where all this runs in a chroot that is not the namespace's own
        place = f"/proc/{self.process.pid}"
        done = subprocess.run(["nsenter", f"--mount={place}/ns/mnt", f"--root={place}/root", *words],
                              capture_output=True, text=True, timeout=120 * PATIENCE,
                              check=False)
        assert done.returncode == 0, f"{words}: {done.stderr}"

    def mount(self, name, source, user=0):
        """A GlusterFS mount without anybody behind it, as `user` would make it. Returns where it is."""
        target = os.path.join(self.lab.directory, name)
        os.makedirs(target, exist_ok=True)
        self.inside("python3", "-c", MOUNT, source, target, str(user))
        return target

    def unmount(self, target):
        self.inside("umount", "--lazy", target)

    def origins(self):
        return {name: one["Origin"] for name, one in self.peers().items()}

    def said(self, text):
        return [r["MESSAGE"] for r in list(self.records) if text in r.get("MESSAGE", "")]


def host(network, space, text, before="", **options):
    daemon = Host(network, space, text, start=False, **options)
    network.daemons.append(daemon)
    daemon.before = before
    return daemon


def need_fuse():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        raise Skip(f"needs /dev/fuse: {error.strerror}") from None


def running(network, space, text, **options):
    """Started, and so far that the mount namespace is its own."""
    need_fuse()
    daemon = host(network, space, text, **options)
    daemon.start()
    daemon.wait("the daemon on the bus", daemon.manager)
    return daemon


def endpoint(address):
    return f"[{address}]" if ":" in address else address


def peer_of(kind, address):
    return f"{kind}-{address.replace(':', '-')}"


@case("storage mount", "a mount is a peer while it is there", *FAMILIES)
def storage_mount(network, family):
    a, _, s1 = switched(network)
    daemon = running(network, a, config(Discover="storage"))
    equal("peers", daemon.peers(), {})
    target = daemon.mount("gl", f"{B[family]}:/vol")
    name = peer_of("glusterfs", B[family])
    state = consistent(daemon, name, 9000)
    equal("Origin", state["Origin"], "glusterfs")
    equal("Address", state["Address"], B[family])
    # mounted twice and bound elsewhere: one peer
    second = daemon.mount("again", f"{B[family]}:/other")
    daemon.inside("mount", "--rbind", os.path.dirname(target), "/mnt")
    # storage is what one watches for: no mere warning
    limit(s1, 1500)
    black_hole(daemon, name, 1500)
    one_alert(daemon, name, "black-hole")
    # a remount is no change
    daemon.unmount(second)
    daemon.unmount(target)
    daemon.inside("umount", "--lazy", "/mnt")
    daemon.reload()  # it has looked, and seen nothing
    equal("peers", daemon.origins(), {name: "glusterfs"})
    daemon.mount("gl", f"{B[family]}:/vol")
    daemon.rounds(name, 18, deadline=90, Verdict="black-hole")
    equal("peers", daemon.origins(), {name: "glusterfs"})
    equal("farewells", daemon.said("no longer watched"), [])
    daemon.unmount(target)
    daemon.wait("the peer to be retired", lambda: not daemon.peers())
    said = daemon.said("no longer watched")
    equal("farewells", len(said), 1)
    assert name in said[0] and "black-hole" in said[0], said
    # and when it comes back it is a new one
    limit(s1, 9000)
    daemon.mount("gl", f"{B[family]}:/vol")
    consistent(daemon, name, 9000)


STORM = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
folder, count = sys.argv[1], int(sys.argv[2])
def mount(path):
    if libc.mount(b"none", path, b"tmpfs", 0, b"size=4k") != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
mount(folder.encode())
for number in range(count):
    path = f"{folder}/{number}".encode()
    os.mkdir(path)
    mount(path)
for number in range(count):
    mount(path)
    libc.umount2(path, 0)
"""


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as text:
        return int(text.read().split()[0]) / 1e9


@case("storage storm", "ten thousand mounts and a storm of them cost next to nothing")
def storage_storm(network):
    a, _ = direct(network)
    daemon = running(network, a, config(Discover="storage", Interval="30s"))
    folder = os.path.join(network.directory, "many")
    os.mkdir(folder)
    before = cpu_seconds(daemon.process.pid)
    daemon.inside("python3", "-c", STORM, folder, "10000")
    target = daemon.mount("gl", f"{B['ipv4']}:/vol")
    daemon.wait_peer(f"glusterfs-{B['ipv4']}")
    spent = cpu_seconds(daemon.process.pid) - before
    print(f"30,000 mount events, 10,000 mounts there: {1000 * spent:.0f} ms of processor time")
    assert spent < 1, spent
    daemon.unmount(target)
    daemon.wait("the peer to be retired", lambda: not daemon.peers())
    equal("farewells", len(daemon.said("no longer watched")), 1)


MANY = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
server = socket.create_server((sys.argv[1], int(sys.argv[2])), backlog=512)
opened = []
print("listens", flush=True)
for line in sys.stdin:
    opened += [server.accept()[0] for _ in range(int(line))]
    print("open", flush=True)
"""


@case("storage churn", "mounts that are no storage come and go: the many connections are not read for it")
def storage_churn(network):
    a, b = direct(network)
    opened = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))  # a login has 1024
    server = subprocess.Popen(b.command("python3", "-c", MANY, B["ipv4"], "2049"), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    network.stack.callback(end, server)
    assert server.stdout.readline() == "listens\n"
    for _ in range(15):
        with a.entered():
            opened += [socket.create_connection((B["ipv4"], 2049)) for _ in range(200)]
        server.stdin.write("200\n")
        server.stdin.flush()
        assert server.stdout.readline() == "open\n"
    network.stack.callback(lambda: [one.close() for one in opened])
    daemon = running(network, a, config({"b": {"Address": B["ipv4"]}}, Discover="storage",
                                        Interval="10min"))
    daemon.wait_peer("b", SocketMSS=1448)
    before, looks = cpu_seconds(daemon.process.pid), 12
    for _ in range(looks):
        daemon.inside("mount", "-t", "tmpfs", "tmpfs", "/mnt")
        daemon.inside("umount", "/mnt")
        until = time.monotonic() + 1.1
        daemon.wait("the next second", lambda: time.monotonic() > until, 5)
    spent = cpu_seconds(daemon.process.pid) - before
    # the connections are looked at for their own sake meanwhile, a few times
    print(f"{looks} seconds of mounts beside 3,000 connections: {1000 * spent:.0f} ms")
    assert spent < 0.020 + 0.002 * looks, spent


@case("storage planted", "what a user can mount, and what is no other host, is not probed")
def storage_planted(network):
    a, _ = direct(network)
    a.ip("address add 192.0.2.7/24 dev eth0")
    daemon = running(network, a, config(Discover="storage"))
    for number, (source, user) in enumerate((
            ("192.0.2.66:/vol", 1000), ("planted.example:/vol", 1000), (f"{A['ipv4']}:/vol", 0),
            (f"{A['ipv6']}:/vol", 0), ("192.0.2.7:/vol", 0), ("127.0.0.1:/vol", 0), ("::1:/vol", 0),
            ("0.0.0.0:/vol", 0), ("224.0.0.1:/vol", 0), ("fe80::1:/vol", 0), ("not a host:/vol", 0),
            ("\x1b[2Jx:/vol", 0), ("a\nb:/vol", 0), ("192.0.2.67", 0), ("a" * 300 + ":/vol", 0))):
        daemon.mount(f"m{number}", source, user)
    daemon.mount("marker", f"{B['ipv4']}:/vol")
    consistent(daemon, f"glusterfs-{B['ipv4']}", 1500)
    daemon.rounds(f"glusterfs-{B['ipv4']}", 5, Verdict="consistent")
    equal("peers", list(daemon.peers()), [f"glusterfs-{B['ipv4']}"])
    silent(daemon)


@case("storage own later", "an address that becomes this host's own is no peer any more")
def storage_own_later(network):
    a, _ = direct(network)
    daemon = running(network, a, config(Discover="storage"))
    daemon.mount("gl", f"{B['ipv4']}:/vol")
    consistent(daemon, f"glusterfs-{B['ipv4']}", 1500)
    a.ip(f"address add {B['ipv4']}/32 dev eth0")
    daemon.wait("the peer to go", lambda: not daemon.peers())
    a.ip(f"address del {B['ipv4']}/32 dev eth0")
    consistent(daemon, f"glusterfs-{B['ipv4']}", 1500)


@case("storage wins", "configured peers win over storage, storage over gateways", *FAMILIES)
def storage_wins(network, family):
    a, _, _ = routed(network)
    a.route(f"add default via {R1[family]}")
    daemon = running(network, a, config())
    daemon.mount("gl", f"{R1[family]}:/vol")
    daemon.write(config(Discover="gateways"))
    daemon.reload()
    gateway = f"gateway-eth0-{R1[family].replace(':', '-')}"
    equal("peers", daemon.origins(), {gateway: "gateway"})
    daemon.write(config(Discover="gateways storage"))
    daemon.reload()
    name = peer_of("glusterfs", R1[family])
    equal("peers", daemon.origins(), {name: "glusterfs"})
    consistent(daemon, name, 1500)
    daemon.write(config({"san": {"Address": R1[family]}}, Discover="gateways storage"))
    daemon.reload()
    equal("peers", daemon.origins(), {"san": "config"})
    consistent(daemon, "san", 1500)
    daemon.write(config(Discover="nfs smb iscsi nvme ceph"))
    daemon.reload()
    equal("peers", daemon.peers(), {})
    never(daemon, name, "black-hole", "unreachable")


@case("storage name", "a server's name is looked up, and is the configured peer when it is its address")
def storage_name(network):
    a, _ = direct(network)
    network.hosts_file(a, [f"{B['ipv4']} gl1.example"])
    daemon = running(network, a, config(Discover="storage"))
    daemon.mount("gl", "gl1.example:/vol")
    daemon.mount("nowhere", "gl9.example:/vol")
    name = f"glusterfs-{B['ipv4']}"
    equal("Address", consistent(daemon, name, 1500)["Address"], B["ipv4"])
    daemon.wait("the other name's failure", lambda: daemon.said("gl9.example cannot be looked up"))
    daemon.write(config({"b": {"Address": B["ipv4"]}}, Discover="storage"))
    daemon.reload()
    consistent(daemon, "b", 1500)
    daemon.rounds("b", 3, Verdict="consistent")
    equal("peers", daemon.origins(), {"b": "config"})
    silent(daemon)


CONNECT = """
import encodings.idna, os, socket, sys
address, port, user = sys.argv[1:]
os.setuid(int(user))
with socket.create_connection((address, int(port))):
    print("connected", flush=True)
    sys.stdin.read()
"""

LISTEN = """
import socket, sys
listeners = [socket.create_server(("::", int(port)), family=socket.AF_INET6, dualstack_ipv6=True)
             for port in sys.argv[1:]]
print("listening", flush=True)
sys.stdin.read()
"""


def begin(network, space, code, *words):
    """A program in this namespace that has said one line; it ends with the case, or with its input."""
    process = subprocess.Popen(space.command("python3", "-c", code, *map(str, words)), text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    network.stack.callback(end, process)
    assert process.stdout.readline(), "it did not start"
    return process


@case("storage connections", "live connections of root to storage's ports, and of nobody else")
def storage_connections(network):
    a, b = direct(network)
    hosts = [f"192.0.2.{n}" for n in range(10, 18)]
    b.address("eth0", *(f"{one}/24" for one in hosts))
    begin(network, b, LISTEN, 2049, 3260, 6800, 7788, 3300, 8080)
    begin(network, a, LISTEN, 2049)
    for address, port, user in ((hosts[0], 2049, 0), (f"::ffff:{hosts[1]}", 3260, 0),
                                (B["ipv6"], 3260, 0), (hosts[2], 2049, 1000), (hosts[3], 8080, 0),
                                (hosts[4], 6800, 0), (hosts[5], 7788, 0)):
        begin(network, a, CONNECT, address, port, user)
    # a client of this host, and this host's own
    begin(network, b, CONNECT, A["ipv4"], 2049, 0)
    begin(network, a, CONNECT, A["ipv4"], 2049, 0)
    begin(network, a, CONNECT, "127.0.0.1", 2049, 0)
    wanted = {f"nfs-{hosts[0]}": "nfs", f"iscsi-{hosts[1]}": "iscsi",
              f"iscsi-{B['ipv6'].replace(':', '-')}": "iscsi"}
    daemon = start(network, a, config(Discover="storage"))
    daemon.wait("the daemon on the bus", daemon.manager)
    equal("peers", {n: p["Origin"] for n, p in daemon.peers().items()}, wanted)
    for name in wanted:
        consistent(daemon, name, 1500)
    # with a monitor there Ceph's other ports are Ceph's
    monitor = begin(network, a, CONNECT, hosts[6], 3300, 0)
    wanted |= {f"ceph-{hosts[4]}": "ceph", f"ceph-{hosts[6]}": "ceph"}
    daemon.reload()
    equal("peers", {n: p["Origin"] for n, p in daemon.peers().items()}, wanted)
    # what is closed when idle is not forgotten at once
    end(monitor)
    daemon.reload()
    daemon.rounds(f"ceph-{hosts[6]}", 20, Verdict="consistent")
    equal("peers", {n: p["Origin"] for n, p in daemon.peers().items()}, wanted)
    silent(daemon)


TABLE = """\
22 1 0:20 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:41 / /mnt/nfs rw - nfs4 nas:/export rw,vers=4.2,proto=tcp,clientaddr=192.0.2.1,addr=192.0.2.10
31 22 0:41 /sub /srv rw - nfs4 nas:/export rw,vers=4.2,proto=tcp,clientaddr=192.0.2.1,addr=192.0.2.10
32 22 0:42 / /mnt/smb rw - cifs //files/x rw,username=me,addr=2001:0db8:0001:0000:0000:0000:0000:0020
33 22 0:43 / /mnt/ceph rw - ceph 192.0.2.30:6789,192.0.2.31:6789:/ rw,name=x,secret=<hidden>
34 22 0:44 / /mnt/ceph2 rw - ceph x@f.cephfs=/ rw,mon_addr=192.0.2.31:6789/[2001:db8:1::32]:3300
35 22 0:45 / /mnt/rdma rw - nfs4 nas:/fast rw,proto=rdma,port=20049,addr=192.0.2.40
36 22 0:46 / /mnt/ll rw - nfs4 nas:/ll rw,proto=tcp6,addr=fe80::b%{index}
"""
FOUND = {"nfs-192.0.2.10": "nfs", "nfs-192.0.2.11": "nfs", "smb-2001-db8-1--20": "smb",
         "ceph-192.0.2.30": "ceph", "ceph-192.0.2.31": "ceph", "ceph-2001-db8-1--32": "ceph",
         "nfs-fe80--b": "nfs"}


def index_of(space, device):
    return int(space.ip(f"-o link show {device}").split(":")[0])


def fake(network, table, more=""):
    """A script that lays a mount table over the daemon's own. It can be written again."""
    path = os.path.join(network.directory, "mountinfo")
    with open(path, "w", encoding="utf-8") as file:
        file.write(table)
    return f"{more}mount --bind {path} /proc/$$/mountinfo && "


def fake_check(network, space, before):
    """Skips where a process's own files cannot be laid over."""
    done = subprocess.run(space.command("sh", "-c", before + "true"), capture_output=True, text=True,
                          timeout=30, check=False)
    if done.returncode != 0:
        raise Skip(f"cannot lay a mount table over the kernel's: {done.stderr.strip()}")


@case("storage kinds", "NFS and its trunks, SMB and CephFS, by their own words")
def storage_kinds(network):
    a, b = direct(network)
    b.address("eth0", *(f"192.0.2.{n}/24" for n in (10, 11, 30, 31, 40)),
              "2001:db8:1::20/64", "2001:db8:1::32/64", "fe80::b/64")
    a.address("eth0", "fe80::a/64")
    switch = "/sys/kernel/sunrpc/xprt-switches/switch-0"
    trunk = ("mount -t tmpfs tmpfs /sys/kernel && "
             f"mkdir -p {switch}/xprt-0-tcp {switch}/xprt-1-tcp {switch}-x/xprt-2-tcp && "
             f"echo 192.0.2.10 > {switch}/xprt-0-tcp/dstaddr && "
             f"echo 192.0.2.11 > {switch}/xprt-1-tcp/dstaddr && "
             f"echo 192.0.2.12 > {switch}-x/xprt-2-tcp/dstaddr && ")
    table = TABLE.format(index=index_of(a, "eth0"))
    before = fake(network, table, trunk)
    fake_check(network, a, before)
    daemon = host(network, a, config(Discover="gateways storage"), before)
    daemon.start()
    daemon.wait("all kinds", lambda: daemon.origins() == FOUND)
    for name in FOUND:
        consistent(daemon, name, 1500)
    equal("link-local", daemon.peer("nfs-fe80--b")["Address"], "fe80::b%eth0")
    equal("ways left out", len(daemon.said("192.0.2.40 is not watched")), 1)
    # only some kinds
    daemon.write(config(Discover="smb"))
    daemon.reload()
    equal("peers", daemon.origins(), {"smb-2001-db8-1--20": "smb"})
    daemon.write(config(Discover="storage"))
    fake(network, table.replace("192.0.2.30", "192.0.2.40"))
    daemon.reload()
    daemon.wait("the other monitor", lambda: "ceph-192.0.2.40" in daemon.origins()
                and "ceph-192.0.2.30" not in daemon.origins())
    silent(daemon)


@case("storage many", "so many servers that not all are watched: said once, and no alarm")
def storage_many(network):
    a, _ = direct(network)
    a.ip("route add 10.0.0.0/8 dev eth0")
    before = fake(network, "".join(
        f"{n} 22 0:41 / /m{n} rw - nfs4 nas:/ rw,proto=tcp,addr=10.0.{n // 100}.{n % 100 + 1}\n"
        for n in range(300)))
    fake_check(network, a, before)
    daemon = host(network, a, config(Discover="storage", Interval="30s"), before)
    daemon.start()
    daemon.wait("the daemon on the bus", daemon.manager)
    equal("peers", len(daemon.peers()), 256)
    daemon.reload()
    equal("peers", len(daemon.peers()), 256)
    equal("words about it", len(daemon.said("more than 256")), 1)
    daemon.wait_peer("nfs-10.0.0.1", Verdict="unverifiable", Severity="notice")
    equal("farewells", daemon.said("no longer watched"), [])


@case("storage once", "--once looks at storage too, also at what has to be looked up first")
def storage_once(network):
    a, b = direct(network)
    b.address("eth0", "192.0.2.10/24")
    network.hosts_file(a, [f"{B['ipv4']} gl1.example"])
    before = fake(network, "30 22 0:41 / /mnt/nfs rw - nfs4 nas:/ rw,proto=tcp,addr=192.0.2.10\n"
                           "31 22 0:42 / /mnt/gl rw - fuse.glusterfs gl1.example:/v rw,user_id=0\n")
    fake_check(network, a, before)
    daemon = host(network, a, config(Discover="storage"), before, bus=False, journal=False)
    status, out, err = daemon.once("--config", daemon.file, "--once", "--json=short")
    equal("exit status", (status, err), (0, ""))
    equal("peers", {p["Name"]: p["Verdict"] for p in json.loads(out)["Peers"]},
          {"nfs-192.0.2.10": "consistent", f"glusterfs-{B['ipv4']}": "consistent"})
    # a name that nobody knows is waited for, and not for ever; an address alone is asked alone
    network.hosts_file(a, [])
    status, out, err = daemon.once("--config", daemon.file, "--once", "--json=short")
    equal("peers", [p["Name"] for p in json.loads(out)["Peers"]], ["nfs-192.0.2.10"])
    status, out, err = daemon.once("--config", daemon.file, "--once", "--json=short", B["ipv4"])
    equal("peers", [p["Name"] for p in json.loads(out)["Peers"]], [B["ipv4"]])


DEVICES = """\
P: /devices/platform/host3
E: SUBSYSTEM=scsi

P: /devices/platform/host3/scsi_host/host3
E: SUBSYSTEM=scsi_host
A: proc_name=iscsi_tcp

P: /devices/platform/host3/iscsi_host/host3
E: SUBSYSTEM=iscsi_host
A: netdev=eth0

P: /devices/platform/host3/session1/connection1:0/iscsi_connection/connection1:0
E: SUBSYSTEM=iscsi_connection
A: address=192.0.2.10
A: port=3260

P: /devices/platform/host4/session2/connection2:0/iscsi_connection/connection2:0
E: SUBSYSTEM=iscsi_connection
A: address=192.0.2.10
A: port=3260

P: /devices/virtual/nvme-fabrics/ctl/nvme0
E: SUBSYSTEM=nvme
A: transport=tcp
A: state=live
A: address=traddr=192.0.2.11,trsvcid=4420,src_addr=192.0.2.1

P: /devices/virtual/nvme-fabrics/ctl/nvme1
E: SUBSYSTEM=nvme
A: transport=rdma
A: state=live
A: address=traddr=192.0.2.12,trsvcid=4420
"""


@case("storage devices", "iSCSI and NVMe/TCP sessions")
def storage_devices(network):
    if not shutil.which("umockdev-run"):
        raise Skip("needs umockdev")
    a, b = direct(network, 9000)
    b.address("eth0", "192.0.2.10/24", "192.0.2.11/24", "192.0.2.12/24")
    path = os.path.join(network.directory, "devices")
    with open(path, "w", encoding="ascii") as file:
        file.write(DEVICES)
    daemon = host(network, a, config(Discover="storage"), bus=False, journal=False)
    words = daemon.shell("--config", daemon.file, "--once", "--json=short")
    place = words.index("-c") + 1
    words[place] = words[place].replace('exec "$@"', f'exec umockdev-run -d {path} -- "$@"')
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False,
                          stdin=subprocess.DEVNULL, env={
                              **daemon.environment(),
                              # umockdev's library comes before a sanitizer's
                              "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
    equal("exit status", (done.returncode, done.stderr), (0, ""))
    peers = {p["Name"]: p for p in json.loads(done.stdout)["Peers"]}
    equal("peers", {n: (p["Origin"], p["Verdict"], p["PathMTU"]) for n, p in peers.items()},
          {"iscsi-192.0.2.10": ("iscsi", "consistent", 9000),
           "nvme-192.0.2.11": ("nvme", "consistent", 9000)})
    # one session is bound to a link, the other is not: two paths
    equal("paths", len(peers["iscsi-192.0.2.10"]["Paths"]), 2)
