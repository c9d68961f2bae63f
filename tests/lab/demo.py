#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A black hole in a minute: a host, a switch and a storage box in network namespaces of their own.

The switch stops carrying jumbo frames; the real daemon finds that, the real tool explains it, the
switch is mended. Nothing of it touches this machine's network, and nothing is left behind.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time

import topology
from daemon import CTL, Daemon, config
from lab import Lab, LabError, Skip

SAN = topology.B["ipv4"]
MOST = 25  # seconds to wait for anything; it comes much sooner


def say(text=""):
    print(text, flush=True)


class Demo:
    def __init__(self, lab):
        self.host, self.san, self.switch = topology.switched(lab)
        self.daemon = Daemon(lab, self.host, config(
            {"san": {"Address": SAN, "ExpectMTU": 9000, "Clamp": "route"}}, Timeout="300ms"))
        self.directory = os.path.join(lab.directory, "bin")
        os.mkdir(self.directory)
        os.symlink(os.path.abspath(CTL), os.path.join(self.directory, "mtuwatchctl"))
        self.told = 0

    def show(self, *words):
        """Runs it on the host of the demo, as it is printed."""
        say(f"\n    host# {' '.join(words)}")
        path = f"{self.directory}:{os.environ.get('PATH', '')}"
        done = subprocess.run(self.host.command("env", f"PATH={path}", *words), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.daemon.environment(), timeout=60, check=False)
        for line in done.stdout.rstrip().splitlines():
            say(f"    {line}".rstrip())
        return done.stdout

    def wait_record(self, verdict):
        """Prints the daemon's next journal record of this verdict. Returns how long it took."""
        begun = time.monotonic()

        def found():
            return next((record for record in self.daemon.records[self.told:]
                         if record.get("MTUWATCH_VERDICT") == verdict), None)
        record = self.daemon.wait(f"a word of \"{verdict}\"", found, MOST)
        self.told = self.daemon.records.index(record) + 1
        say("\n" + textwrap.fill(f"journal: {record['MESSAGE']}", 80, initial_indent=" " * 4,
                                 subsequent_indent=" " * 8, break_long_words=False,
                                 break_on_hyphens=False))
        return time.monotonic() - begun


class Copy:
    """A connection like that of a mount: opened while all was well, and used when it is not."""

    BYTES = 1 << 20

    def __init__(self, demo):
        self.arrived = 0
        with demo.san.entered():
            listener = socket.create_server((SAN, 3260))
        with demo.host.entered():
            self.socket = socket.create_connection((SAN, 3260), MOST)
        self.other, _ = listener.accept()
        listener.close()
        self.news = threading.Condition()
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self):
        while chunk := self.other.recv(1 << 16):
            with self.news:
                self.arrived += len(chunk)
                self.news.notify_all()

    def begin(self):
        threading.Thread(target=self.socket.sendall, args=(bytes(self.BYTES),), daemon=True).start()

    def wait(self):
        with self.news:
            if not self.news.wait_for(lambda: self.arrived == self.BYTES, MOST):
                raise AssertionError(f"{self.arrived} bytes of the copy came within {MOST} s")


def play(demo):
    say("A host and a storage box with 9000-byte links, a switch between them, and mtuwatchd on\n"
        "the host, asking every second.")
    demo.daemon.wait_peer("san", MOST, Verdict="consistent")
    copy = Copy(demo)
    demo.show("mtuwatchctl", "list")

    say("\nSomebody changes a port of the switch: it takes 1500 bytes now, and drops what is\n"
        "larger without a word. What is small still works:")
    topology.limit(demo.switch, 1500)
    changed = time.monotonic()
    copy.begin()
    demo.show("ping", "-c", "1", SAN)
    demo.wait_record("black-hole")
    found = time.monotonic() - changed
    say(f"\nThat took {found:.1f} s. Of a copy that was begun meanwhile {copy.arrived} bytes have "
        "arrived. Why?")
    demo.show("mtuwatchctl", "explain", "san")

    say("\nThe configuration says Clamp=route, so mtuwatchd does not leave it at that:")
    demo.daemon.wait_peer("san", MOST, ClampMTU=1500)
    demo.show("ip", "route", "show", SAN)
    copy.wait()
    say(f"\nThe copy is through: {copy.arrived} bytes, by the connection that hung.")

    say("\nThe port is mended.")
    demo.switch.mtu("trunk", 9000)
    healed = demo.wait_record("consistent")
    demo.daemon.wait_peer("san", MOST, ClampMTU=0)
    demo.show("mtuwatchctl", "list")
    say(f"\nSeen {healed:.1f} s later, and the clamp is gone. So are the namespaces.")


def main():
    argparse.ArgumentParser(description=__doc__,
                            formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with Lab("demo") as lab:
            play(Demo(lab))
    except Skip as skip:
        sys.exit(f"demo: {skip}")
    except (LabError, AssertionError) as error:
        sys.exit(f"demo: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
