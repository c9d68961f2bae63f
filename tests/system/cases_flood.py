# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several users who call without end: nobody else notices. FLOOD_SECONDS says for how
long each time, FLOOD_PEERS how many peers there are where there are many."""

import json
import os
import socket
import statistics
import subprocess
import threading
import time

from world import (BASE_CONFIG, BUS, MANAGER, UNIT, bus_call, drop_in_clear, drop_in_set, expect,
                   expect_equal, file_write, journal_about, journal_mark, peer_check, peer_names,
                   peer_path, peer_property, refused, run, service_fresh, service_watching, unit_pid,
                   wait_for)

SECONDS = float(os.environ.get("FLOOD_SECONDS", "2"))
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
REFUSALS = {"org.mtuwatch1.Busy",
            "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired"}
OBJECTS = "GetManagedObjects"
PING = "Ping"
PEERS = int(os.environ.get("FLOOD_PEERS", "300"))
MANY_CONFIG = "[Daemon]\nInterval=10s\nDiscover=none\nProbeBandwidth=10G\n"
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


def flooder(seconds, at_a_time, user, method, *arguments):
    interface = {OBJECTS: "org.freedesktop.DBus.ObjectManager",
                 PING: "org.freedesktop.DBus.Peer"}.get(method, INTERFACE)
    return subprocess.Popen([*as_user(user), FLOODER, str(seconds), str(at_a_time), PATH, interface,
                             method, *arguments], stdout=subprocess.PIPE, text=True)


def flood(calls, seconds, at_a_time=32):
    """All of them at once; what each said."""
    floods = [flooder(seconds, at_a_time, *call) for call in calls]
    said = []
    for (user, *words), one in zip(calls, floods):
        output, _ = one.communicate()
        expect_equal(f"the end of the flood by {user}", one.returncode, 0)
        said.append((user, words[0], json.loads(output)))
    return said


def total(said):
    return sum(one["good"] + sum(one["errors"].values()) for _, _, one in said)


def tell_floor():
    """How many calls the bus carries where nothing is done for them. In the long form alone."""
    if SECONDS >= 10:
        said = flood([(user, PING) for user in USERS for _ in range(2)], 10)
        print(f"# {total(said) / 10:.0f} calls a second that ask for nothing")


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
        calls = [(user, "Check", "san") for user in USERS for _ in range(2)]
        flood(calls, 1)  # what is to be allocated is
        tell_floor()
        before, cpu, began = memory(), cpu_seconds(pid), time.monotonic()
        with Probes("192.0.2.10") as asked, Probes("192.0.2.11") as other:
            said = flood(calls, SECONDS)
            # root's own are not in their way
            seen = peer_check("san")
            seconds = time.monotonic() - began
            grown, packets, gaps = memory() - before, len(asked.times), other.gaps()
        late = max(abs(gap - statistics.median(gaps)) for gap in gaps)
        print(f"# {total(said)} calls in {seconds:.1f} s, {total(said) / seconds:.0f} a second, "
              f"{cpu_seconds(pid) - cpu:.1f} s of CPU, {packets} packets, {grown} KiB more; rounds of "
              f"another peer {late * 1000:.0f} ms off at most, deviation "
              f"{statistics.pstdev(gaps) * 1000:.0f} ms")
        expect_equal("Verdict", seen["Verdict"], "consistent")
        # two a round, a round a second for the callers and one by itself
        expect(packets <= 4 * (seconds + 2), f"{packets} packets in {seconds:.1f} s")
        expect(grown < 1024, f"{grown} KiB more memory")
        for user, _, one in said:
            expect(user in ALLOWED or one["good"] == 0, f"{user} may not and did: {one}")
            expect(set(one["errors"]) <= REFUSALS, one)
        expect(any(one["good"] for user, _, one in said if user in ALLOWED), said)
        expect_equal("main process", unit_pid(), pid)
        expect(not journal_about(mark), journal_about(mark))
    finally:
        drop_in_clear()
        os.unlink(RULES)


def case_flood_of_documents():
    """many peers, and users who ask for all of them without end: short calls are answered meanwhile"""
    names = [f"10.99.{i // 250}.{i % 250 + 1}" for i in range(PEERS)]
    run("ip", "-n", "san", "route", "replace", "local", "10.99.0.0/16", "dev", "lo")
    run("ip", "route", "replace", "10.99.0.0/16", "via", "192.0.2.10")
    drop_in_set("[Service]\nWatchdogSec=10s\n")
    try:
        service_fresh(MANY_CONFIG + "".join(f"[Peer p{i}]\nAddress={name}\n"
                                            for i, name in enumerate(names)))
        wait_for("all of them", lambda: len(peer_names()) == PEERS, 60)
        wait_for("all consistent", lambda: all(
            verdict == "consistent" for _, _, verdict in bus_call("ListPeers")[0]), 90)
        mark, pid = journal_mark(), unit_pid()
        cpu, before = cpu_seconds(pid), memory()
        said = flood([(user, method) for user in USERS for method in ("Describe", OBJECTS)]
                     + [("nobody", "ListLinks")], SECONDS, 8)
        for user, method, one in said:
            print(f"# {user} {method}: {one}")
        print(f"# {PEERS} peers: {cpu_seconds(pid) - cpu:.1f} s of CPU, {memory() - before} KiB more")
        expect(all(set(one["errors"]) <= {"org.mtuwatch1.Busy"} for _, _, one in said), said)
        expect(said[-1][2]["good"] > 0, said[-1])
        expect_equal("main process", unit_pid(), pid)
        expect(not journal_about(mark), journal_about(mark))
    finally:
        drop_in_clear()
        run("ip", "route", "del", "10.99.0.0/16")


# what a user without privilege may not do, and what he may
CHECKS = (("Check", "s", "san"), ("CheckAll",))
MANAGES = (("Reload",), ("Release", "s", "san"), ("Release", "s", ""), ("Probe", "sa{sv}", "192.0.2.11", "0"))
READS = (("ListPeers",), ("ListLinks",), ("Describe",))


def as_user(user):
    group = "nogroup" if user == "nobody" else user
    return "setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"


def may_not(user, methods):
    for method in methods:
        complaint = refused(*as_user(user), "busctl", "call", *MANAGER, *method)
        expect(any(word in complaint for word in ("denied", "authoriz", "polkit", "a password", "only root")),
               f"{user} {method}: {complaint}")


def may(user, methods):
    for method in methods:
        run(*as_user(user), "busctl", "call", *MANAGER, *method)


def reads_alone(user):
    """Nothing can be set, by nobody but root."""
    may(user, READS)
    for path, interface in ((PATH, INTERFACE), (peer_path("san"), "org.mtuwatch1.Peer")):
        run(*as_user(user), "busctl", "call", BUS, path, "org.freedesktop.DBus.Properties", "GetAll",
            "s", interface)
        refused(*as_user(user), "busctl", "set-property", BUS, path, interface, "Verdict", "s", "ok")
    for name, value in (("LogLevel", "debug"), ("LogTarget", "console")):
        refused(*as_user(user), "busctl", "set-property", BUS, "/org/freedesktop/LogControl1",
                "org.freedesktop.LogControl1", name, "s", value)


def case_who_may():
    """every user may what polkit says, and without polkit root alone"""
    polkit_rule(ALLOWED)
    try:
        service_watching()
        level = run("systemctl", "service-log-level", UNIT)
        for user in ("nobody", "games"):
            reads_alone(user)
            may_not(user, MANAGES)
        may_not("nobody", CHECKS)
        may("games", CHECKS)
        run("systemctl", "mask", "--runtime", "--now", "polkit.service")
        for user in ("nobody", "games"):
            reads_alone(user)
            may_not(user, CHECKS + MANAGES)
        may("root", CHECKS + MANAGES + READS)
        expect_equal("log level", run("systemctl", "service-log-level", UNIT), level)
    finally:
        run("systemctl", "unmask", "--runtime", "polkit.service")
        os.unlink(RULES)


CASES = (case_who_may, case_flood_of_checks, case_flood_of_documents)
