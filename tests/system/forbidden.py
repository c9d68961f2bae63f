#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tries what the service's sandbox forbids, and prints what came of each try: "ok" or an errno's name.
Run inside of it and outside, by cases_sandbox.py. Changes nothing where it succeeds."""

import ctypes
import errno
import json
import mmap
import os
import socket
import sys
import tempfile

LIBC = ctypes.CDLL(None, use_errno=True)
SYSLOG, DELETE_MODULE = {"x86_64": (103, 176)}.get(os.uname().machine, (116, 106))


def call(function, *arguments):
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), "")


def folder(place):
    path = os.path.join(place, "mtuwatchd-forbidden")
    os.mkdir(path)
    os.rmdir(path)


def written(path):
    """Opened for writing as if it were to be cut off; it is the same afterwards."""
    with open(path, encoding="ascii") as file:
        before = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write(before)


def in_child(action):
    """What cannot be taken back. Its errno is the exit code."""
    child = os.fork()
    if child == 0:
        code = 0
        try:
            action()
        except OSError as error:
            code = error.errno
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(code, "")


def suid_file():
    with tempfile.NamedTemporaryFile() as file:
        os.chmod(file.name, 0o4755)


def log_read():
    call(LIBC.syscall, SYSLOG, 10, None, 0)


def control_group():
    with open("/proc/self/cgroup", encoding="ascii") as lines:
        return "/sys/fs/cgroup" + next(line.split("::")[1].strip() for line in lines if "::" in line)


def other_architecture():
    """getpid(2) as 32-bit programs on x86 call it: mov $20, %eax; int $0x80; ret."""
    if os.uname().machine != "x86_64":
        raise OSError(errno.ENOSYS, "")
    with tempfile.TemporaryFile() as file:
        file.write(bytes.fromhex("b814000000cd80c3").ljust(mmap.PAGESIZE, b"\0"))
        file.flush()
        LIBC.mmap.restype = ctypes.c_void_p
        code = LIBC.mmap(None, mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE,
                         file.fileno(), ctypes.c_long(0))
    came = ctypes.CFUNCTYPE(ctypes.c_int)(code)()
    if came < 0:
        raise OSError(-came, "")


def processes_seen():
    if not os.path.exists("/proc/1/status"):
        raise OSError(errno.ENOENT, "")


TRIES = {
    "ProtectSystem, /usr": lambda: folder("/usr"),
    "ProtectSystem, /etc": lambda: folder("/etc"),
    "ProtectSystem, /var": lambda: folder("/var/lib"),
    "ProtectHome": lambda: folder("/home"),
    "ProtectKernelTunables": lambda: written("/proc/sys/net/ipv4/ip_forward"),
    "ProtectControlGroups": lambda: folder(control_group()),
    "ProtectKernelModules": lambda: call(LIBC.syscall, DELETE_MODULE, b"mtuwatchd_forbidden", 0),
    "ProtectKernelLogs, the device": lambda: os.close(os.open("/dev/kmsg", os.O_RDONLY)),
    "ProtectKernelLogs, the call": log_read,
    "ProtectHostname": lambda: socket.sethostname(socket.gethostname()),
    "ProtectProc": processes_seen,
    "PrivateDevices": lambda: os.stat("/dev/mtuwatchd-forbidden"),
    "PrivateTmp": lambda: os.stat("/tmp/mtuwatchd-forbidden"),
    "RestrictAddressFamilies": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "RestrictNamespaces": lambda: in_child(lambda: call(LIBC.unshare, 0x40000000)),
    "RestrictRealtime": lambda: in_child(lambda: os.sched_setscheduler(
        0, os.SCHED_FIFO, os.sched_param(1))),
    "RestrictSUIDSGID": suid_file,
    "LockPersonality": lambda: in_child(lambda: call(LIBC.personality, 8)),
    "MemoryDenyWriteExecute": lambda: mmap.mmap(
        -1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close(),
    "SystemCallFilter, mount": lambda: in_child(lambda: (
        call(LIBC.unshare, 0x20000), call(LIBC.mount, b"none", b"/", None, 1 << 18 | 1 << 14, None))),
    "SystemCallFilter, @resources": lambda: in_child(lambda: os.sched_setaffinity(
        0, os.sched_getaffinity(0))),
    "SystemCallFilter, @privileged": lambda: in_child(lambda: os.chroot("/")),
    "SystemCallArchitectures": lambda: in_child(other_architecture),
    "CapabilityBoundingSet": lambda: in_child(lambda: os.setgroups([])),
}

# What has to be possible all the same.
ALLOWED = {
    "raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close(),
    "raw socket, IPv6": lambda: socket.socket(socket.AF_INET6, socket.SOCK_RAW, 58).close(),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close(),
    "sockets of processes": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4).close(),
    "the kernel's settings": lambda: open("/proc/sys/net/ipv4/tcp_mtu_probing", "rb").close(),
    "the mount table": lambda: open("/proc/self/mountinfo", "rb").close(),
    "devices": lambda: os.listdir("/sys/class/net"),
}


def outcome(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "ok"


def status(name):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(line.split()[1] for line in lines if line.startswith(name + ":"))


def main():
    seen = {
        "tries": {name: outcome(action) for name, action in TRIES.items()},
        "allowed": {name: outcome(action) for name, action in ALLOWED.items()},
        "status": {name: status(name) for name in ("CapBnd", "NoNewPrivs", "Seccomp")},
        "mounts": os.readlink("/proc/self/ns/mnt"),
        "umask": f"{os.umask(0):04o}",
    }
    json.dump(seen, sys.stdout)
    print(flush=True)


if __name__ == "__main__":
    main()
