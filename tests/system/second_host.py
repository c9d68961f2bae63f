# SPDX-License-Identifier: LGPL-2.1-or-later
"""Another host on the same switch: a systemd of its own, with its own journal and its own mtuwatchd."""

import os
import signal
import subprocess

from root import prepare, write
from world import LINK_MTU, expect, run

NAME = "host-b"
ADDRESS = "192.0.2.2"
PLACE = "/run/host-b"


def network_make():
    run("ip", "netns", "add", NAME)
    run("ip", "-n", NAME, "link", "set", "lo", "up")
    run("ip", "-n", "switch", "link", "add", "port-c", "mtu", str(LINK_MTU), "type", "veth",
        "peer", "name", "eth0", "mtu", str(LINK_MTU), "netns", NAME)
    run("ip", "-n", "switch", "link", "set", "port-c", "master", "br0", "up")
    run("ip", "-n", NAME, "addr", "add", f"{ADDRESS}/24", "dev", "eth0")
    run("ip", "-n", NAME, "link", "set", "eth0", "up")


class SecondHost:
    """Boots with these files and starts these units; is ended, and forgotten, with the block."""

    def __init__(self, files, started):
        self.files, self.started = files, started
        self.root = f"{PLACE}/root"
        self.process = None

    def __enter__(self):
        for folder in ("upper", "work", "root"):
            os.makedirs(f"{PLACE}/{folder}")
        prepare(f"{PLACE}/upper", self.started)
        for path, text in self.files.items():
            write(f"{PLACE}/upper{path}", text)
        run("mount", "-t", "overlay", "overlay", "-o",
            f"lowerdir=/,upperdir={PLACE}/upper,workdir={PLACE}/work", self.root)
        network_make()
        with open(f"{PLACE}/console", "wb") as console:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "-q", "-D", self.root, f"--machine={NAME}", "--register=no",
                 f"--network-namespace-path=/run/netns/{NAME}", "--keep-unit", "--settings=no",
                 "--resolv-conf=off", "--timezone=off", "--link-journal=no", "--capability=all",
                 "--console=pipe", "-b"],
                stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        return self

    def alive(self):
        with open(f"{PLACE}/console", encoding="utf-8", errors="replace") as text:
            expect(self.process.poll() is None, f"{NAME} ended: {text.read()[-1000:]}")

    def __exit__(self, *_exception):
        # Its first process ends all of them.
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        if self.process.poll() is None:
            with open(children, encoding="ascii") as text:
                for child in text.read().split():
                    os.kill(int(child), signal.SIGKILL)
        self.process.wait()
        run("umount", "--lazy", self.root)
        run("ip", "-n", "switch", "link", "del", "port-c")
        run("ip", "netns", "del", NAME)
