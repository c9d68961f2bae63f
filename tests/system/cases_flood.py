# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several users who call without end: nobody else notices. FLOOD_SECONDS says for how long each time."""

import json
import os
import socket
import statistics
import struct
import subprocess
import threading
import time

from world import (BASE_CONFIG, MANAGER, UNIT, bus_call, drop_in_clear, drop_in_set, expect,
                   expect_equal, file_write, journal_about, journal_mark, peer_property, run,
                   service_fresh, unit_pid, unit_property, wait_for)

SECONDS = float(os.environ.get("FLOOD_SECONDS", "5"))
FLOODER = "/var/lib/mtuwatchd-test/flooder"
PATH, INTERFACE = MANAGER[1:]
USERS = ("nobody", "games", "daemon", "news")
ALLOWED = ("games", "news")  # by the rule of polkit below; the others are refused
RULES = "/etc/polkit-1/rules.d/10-mtuwatchd-test.rules"
RULE = """\
polkit.addRule(function(action, subject) {{
    if (action.id == "org.mtuwatch1.check" && {users}.indexOf(subject.user) >= 0)
        return polkit.Result.YES;
}});
"""
TWO_PEERS = BASE_CONFIG + "[Peer other]\nAddress=192.0.2.11\n"


class Probes:
    """When echo requests to an address came to the peer, and how many of them."""

    def __init__(self, address):
        self.address, self.times = socket.inet_aton(address), []
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", "san", "python3", "-u", "-c", WATCHER, address],
            stdout=subprocess.PIPE, text=True)
        expect_equal("the watcher", self.process.stdout.readline(), "ready\n")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.times.append(tuple(float(word) for word in line.split()))

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        self.process.terminate()
        self.process.wait()

    def gaps(self):
        """Between the small probes of two rounds."""
        small = [when for when, size in list(self.times) if size < 200]
        return [b - a for a, b in zip(small, small[1:])]


WATCHER = """\
import socket, struct, sys, time
sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
sock.bind(("eth0", 0x0800))
sock.setsockopt(socket.SOL_SOCKET, 35, 1)
wanted = socket.inet_aton(sys.argv[1])
print("ready", flush=True)
while True:
    packet, more, _, address = sock.recvmsg(64, 64)
    if packet[16:20] == wanted and packet[9] == 1 and packet[20] == 8:
        seconds, nanoseconds = struct.unpack("qq", more[0][2])
        print(seconds + nanoseconds / 1e9, struct.unpack_from("!H", packet, 2)[0], flush=True)
"""


def memory():
    with open(f"/proc/{unit_pid()}/status", encoding="ascii") as text:
        return next(int(line.split()[1]) for line in text if line.startswith("VmRSS"))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as text:
        return int(text.read().split()[0]) / 1e9


def flooder(user, method, *arguments, seconds=SECONDS, at_a_time=32, path=PATH, interface=INTERFACE):
    return subprocess.Popen(["setpriv", f"--reuid={user}", f"--regid={user if user != 'nobody' else 'nogroup'}",
                             "--clear-groups", FLOODER, str(seconds), str(at_a_time), path, interface,
                             method, *arguments], stdout=subprocess.PIPE, text=True)


def flood(calls):
    """All of them at once; what each said."""
    floods = [flooder(user, *words) for user, *words in calls]
    said = []
    for (user, *words), one in zip(calls, floods):
        output, _ = one.communicate()
        expect_equal(f"the end of the flood by {user}", one.returncode, 0)
        said.append((user, words[0], json.loads(output)))
    return said


def total(said):
    return sum(one["good"] + sum(one["errors"].values()) for _, _, one in said)


def polkit_rule(users):
    file_write(RULES, RULE.format(users=json.dumps(users)))
    os.chmod(RULES, 0o644)
    run("systemctl", "restart", "polkit.service")


def case_flood_of_checks():
    """checks without end by several users: few packets, other peers' rounds in time, no memory"""
    polkit_rule(ALLOWED)
    drop_in_set("[Service]\nWatchdogSec=2s\n")
    try:
        service_fresh(TWO_PEERS)
        for name in ("san", "other"):
            wait_for(f"{name} consistent", lambda: peer_property(name, "Verdict") == "consistent")
        mark, pid = journal_mark(), unit_pid()
        flood([(user, "Check", "san") for user in USERS])  # what is to be allocated is
        before, cpu, began = memory(), cpu_seconds(pid), time.monotonic()
        for user in USERS:
            done = subprocess.run(["setpriv", f"--reuid={user}", "--clear-groups", "dbus-send", "--system", "--print-reply", "--dest=org.mtuwatch1", PATH, INTERFACE + ".Check", "string:san"], capture_output=True, text=True)
            print("#", user, done.stdout[:50], done.stderr)
        print("#", "\n# ".join(run("systemctl", "status", "polkit.service").splitlines()))
        with Probes("192.0.2.10") as asked, Probes("192.0.2.11") as other:
            said = flood([(user, "Check", "san") for user in USERS for _ in range(2)])
            seconds = time.monotonic() - began
            grown, packets, gaps = memory() - before, len(asked.times), other.gaps()
        late = max(abs(gap - statistics.median(gaps)) for gap in gaps)
        print(f"# {total(said)} calls in {seconds:.1f} s, {total(said) / seconds:.0f} a second, "
              f"{cpu_seconds(pid) - cpu:.1f} s of CPU, {packets} packets, {grown} KiB more, "
              f"rounds {late * 1000:.0f} ms off at most, deviation {statistics.pstdev(gaps) * 1000:.0f} ms")
        for user, _, one in said:
            print(f"# {user}: {one}")
        expect_equal("main process", unit_pid(), pid)
        expect(not journal_about(mark), journal_about(mark))
    finally:
        drop_in_clear()
        os.unlink(RULES)


CASES = (case_flood_of_checks,)
