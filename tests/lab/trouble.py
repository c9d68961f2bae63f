# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trouble for a daemon: system calls that strace(1) lets fail, allocations that fail, another clock."""

import contextlib
import mmap
import os
import signal
import struct
import subprocess

from daemon import BINARY, end
from lab import Skip, run

LIBRARY = os.path.abspath(os.path.join(os.path.dirname(BINARY), "..", "tests", "lab", "trouble.so"))
FIELDS = ("made", "first", "last", "failed", "clock_sec")  # as in trouble.c
ALL_FROM_HERE = 1 << 62


class Preloaded:
    """What trouble.c is told, and tells."""

    def __init__(self, lab):
        if not os.path.exists(LIBRARY):
            raise Skip("the library that makes allocations fail is not built")
        self.path = os.path.join(lab.directory, "trouble")
        self.sites = os.path.join(lab.directory, "sites")
        with open(self.path, "w+b") as file:
            file.truncate(mmap.PAGESIZE)
            self.memory = mmap.mmap(file.fileno(), mmap.PAGESIZE)

    def variables(self, sites=False):
        more = {"TROUBLE_SITES": self.sites} if sites else {}
        return {"LD_PRELOAD": LIBRARY, "TROUBLE": self.path,
                "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", **more}

    def get(self, field):
        return struct.unpack_from("<q", self.memory, 8 * FIELDS.index(field))[0]

    def set(self, **fields):
        for field, value in fields.items():
            struct.pack_into("<q", self.memory, 8 * FIELDS.index(field), value)

    def fail(self, first, last):
        """The allocations of these numbers, counted from the daemon's start."""
        self.set(first=0, last=0)
        self.set(last=last)
        self.set(first=first)

    def fail_next(self, count):
        made = self.get("made")
        self.fail(made + 1, made + count)

    def listed(self):
        """Of each allocation so far: the places it was made from, the nearest first."""
        with open(self.sites, encoding="ascii", errors="replace") as file:
            return [line.split()[1:] for line in file]


def needs_strace():
    try:
        run(["strace", "-V"])
    except (FileNotFoundError, OSError):
        raise Skip("needs strace") from None


def injected(log):
    """How many calls were made to fail."""
    with contextlib.suppress(FileNotFoundError), \
            open(log, encoding="utf-8", errors="replace") as file:
        return sum("(INJECTED)" in line for line in file)
    return 0


def children(pid):
    with contextlib.suppress(FileNotFoundError), \
            open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(x) for x in file.read().split()]
    return []


class Traced:
    """A daemon whose system calls are watched, and of which one may be made to go wrong."""

    def __init__(self, lab, daemon, calls):
        self.daemon, self.traced = daemon, calls
        self.log = os.path.join(lab.directory, "calls")

    def start(self, *inject):
        """`inject`: as strace(1) takes it, "sendto:signal=KILL:when=7"; none: they are only listed."""
        options = ["strace", "-f", "-qq", "-o", self.log, "-e", f"trace={self.traced}", "-s", "64"]
        # much faster, but then strace 6.1 sends no signal
        if not any(":signal=" in one for one in inject):
            options.append("--seccomp-bpf")
        for one in inject:
            options += ["-e", f"inject={one}"]
        plain = self.daemon.shell

        def shell(*words):
            line = plain(*words)
            at = line.index("sh", 6)
            return line[:at + 1] + options + line[at + 1:]
        self.daemon.shell = shell
        try:
            self.daemon.start()
        finally:
            self.daemon.shell = plain

    def attach(self, inject):
        """To a daemon that runs; returns what ends it again, when the calls have been met or not."""
        log = self.log + "-attached"
        pid = self.daemon.process.pid
        tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", log, "-s", "8", "-p", str(pid),
                                   "-e", "trace=" + inject.split(":")[0], "-e", f"inject={inject}"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        return tracer, log

    def lines(self):
        """The calls so far, in order, without the number of the thread."""
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return [line.split(None, 1)[1] for line in file if " " in line]

    def ended(self):
        return self.daemon.process.poll() is not None

    def _signal(self, number):
        for child in children(self.daemon.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)

    def kill(self):
        """The daemon itself: its parent goes with it."""
        self._signal(signal.SIGKILL)
        self.daemon.process.wait()
        self.daemon.process = None

    def stop(self):
        """Politely; its exit status."""
        self._signal(signal.SIGTERM)
        with contextlib.suppress(Exception):
            self.daemon.process.wait(10)
        self._signal(signal.SIGKILL)
        status = end(self.daemon.process)
        self.daemon.process = None
        return status
