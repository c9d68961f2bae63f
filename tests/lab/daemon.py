# SPDX-License-Identifier: LGPL-2.1-or-later
"""The real daemon inside a lab: its private bus, its journal records, and waiting for what it says.

Everything is read the way an administrator would: properties and signals by busctl, records from
the journal's socket, sentences from stderr where there is no journal.
"""

import collections
import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time

from lab import LabError, Skip

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("MTUWATCHD", os.path.join(ROOT, "build", "daemon", "mtuwatchd"))
CTL = os.environ.get("MTUWATCHCTL", os.path.join(os.path.dirname(BINARY), "mtuwatchctl"))
DEADLINE = 40.0  # seconds; what is waited for comes much sooner, unless something is wrong
PATIENCE = float(os.environ.get("TEST_PATIENCE", 1))  # times as long, for a daemon that runs slowly
NAME = "org.mtuwatch1"
BUS_CONFIG = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_type="method_call"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow receive_sender="*" eavesdrop="true"/>
  </policy>
</busconfig>
"""


def config(peers=None, links=None, **daemon):
    """The text of a configuration. Short times, nothing discovered, unless the case says otherwise."""
    settings = {"Interval": "1s", "Discover": "none", "ProbeBandwidth": "1G", **daemon}
    lines = ["[Daemon]"] + [f"{key}={value}" for key, value in settings.items()]
    for kind, sections in (("Peer", peers), ("Link", links)):
        for name, keys in (sections or {}).items():
            lines.append(f"[{kind} {name}]")
            for key, value in keys.items():
                for one in value if isinstance(value, list) else [value]:
                    lines.append(f"{key}={one}")
    return "\n".join(lines) + "\n"


def label(name):
    """A name as the last element of an object path (sd_bus_path_encode)."""
    out = "".join(c if c.isascii() and c.isalnum() and (i or not c.isdigit())
                  else "".join(f"_{byte:02x}" for byte in c.encode())
                  for i, c in enumerate(name))
    return out or "_"


def plain(value):
    """busctl's JSON without the types of variants."""
    if isinstance(value, dict):
        if set(value) == {"type", "data"}:
            return plain(value["data"])
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return value


class BusError(Exception):
    """A method call that was answered by an error; the text holds what busctl says."""


class Bus:
    """A dbus-daemon of our own, for one daemon."""

    def __init__(self, lab, role):
        self.path = os.path.join(lab.directory, f"{role}-bus")
        self.address = f"unix:path={self.path}"
        self.config = os.path.join(lab.directory, f"{role}-bus.conf")
        self.process = None
        with open(self.config, "w", encoding="ascii") as file:
            file.write(BUS_CONFIG.format(path=self.path))
        lab.stack.callback(self.stop)

    def start(self):
        self.process = subprocess.Popen(
            ["dbus-daemon", f"--config-file={self.config}", "--nofork", "--nopidfile",
             "--print-address=1"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not self.process.stdout.readline().startswith("unix:"):
            raise LabError("dbus-daemon did not start")

    def stop(self):
        if self.process:
            end(self.process)
            self.process.stdout.close()
            self.process = None
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def busctl(self, *words, timeout=60):
        done = subprocess.run(["busctl", f"--address={self.address}", "--json=short",
                               f"--timeout={timeout}", *words],
                              capture_output=True, text=True, timeout=timeout + 10)
        if done.returncode != 0:
            raise BusError(done.stderr.strip())
        return plain(json.loads(done.stdout)) if done.stdout.strip() else None

    def begin(self, path, interface, method, *words):
        """A call that is not waited for; its caller is a process of its own."""
        return subprocess.Popen(["busctl", f"--address={self.address}", "call", NAME, path, interface,
                                 method, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def call(self, path, interface, method, *words, timeout=60):
        answer = self.busctl("call", NAME, path, interface, method, *words, timeout=timeout)
        return answer[0] if answer and len(answer) == 1 else answer


def end(process, grace=5.0):
    """Ends a process of ours, politely at first. Returns its exit status."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
        try:
            process.wait(grace * PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def record_fields(datagram):
    """One datagram of the journal's native protocol."""
    fields = {}
    while datagram:
        line, _, rest = datagram.partition(b"\n")
        key, has_value, value = line.partition(b"=")
        if not has_value:
            (size,) = struct.unpack_from("<Q", rest)
            value, rest = rest[8:8 + size], rest[8 + size + 1:]
        fields[key.decode()] = value.decode(errors="replace")
        datagram = rest
    return fields


class Daemon:
    """mtuwatchd in one namespace. Starts at once unless told otherwise."""

    def __init__(self, lab, space, text, bus=True, journal=True, start=True,
                 may_lack=None, lldpd=None, variables=None):
        self.lab, self.space, self.may_lack = lab, space, may_lack
        self.process, self.lldpd, self.variables = None, lldpd, variables or {}
        self._records, self.lines, self.signals = [], [], []
        self.news = threading.Condition()
        self.reader, self.marks = None, collections.deque()
        self.file = os.path.join(lab.directory, f"{space.role}.conf")
        self.journal = os.path.join(lab.directory, f"{space.role}-journal") if journal else None
        self.bus = Bus(lab, space.role)
        self.write(text)
        if self.journal:
            self._listen()
        lab.stack.callback(self.stop)
        if bus:
            self.bus.start()
            self.monitor()
        if start:
            self.start()

    # running it

    def write(self, text):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)

    def shell(self, *arguments):
        """The daemon's command line, in its namespace and with a /run of its own."""
        script = "mount -t tmpfs tmpfs /run && "
        if self.journal:
            script += (f"mkdir -p /run/systemd/journal && "
                       f"mount --bind {self.journal} /run/systemd/journal && ")
        if self.lldpd:
            script += f"ln -s {self.lldpd} /run/lldpd.socket && "
        return self.space.command("sh", "-c", script + 'exec "$@"', "sh", BINARY, *arguments)

    def environment(self):
        kept = {key: value for key, value in os.environ.items()
                if key not in ("JOURNAL_STREAM", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                               "INVOCATION_ID")}
        return {**kept, "DBUS_SYSTEM_BUS_ADDRESS": self.bus.address, **self.variables}

    def start(self):
        self.process = subprocess.Popen(self.shell("--config", self.file), text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, env=self.environment())
        threading.Thread(target=self._read_lines, args=(self.process.stdout,), daemon=True).start()

    def once(self, *arguments, timeout=60):
        """`mtuwatchd --once …` to its end: exit status, stdout, stderr."""
        done = subprocess.run(self.shell(*arguments), capture_output=True, text=True,
                              timeout=timeout * PATIENCE, stdin=subprocess.DEVNULL,
                              env=self.environment())
        return done.returncode, done.stdout, done.stderr

    def stop(self):
        if self.process is None:
            return None
        status = end(self.process)
        self.process = None
        return status

    def signal(self, number):
        self.process.send_signal(number)

    # listening

    def _tell(self, where, what):
        with self.news:
            where.append(what)
            self.news.notify_all()

    def _read_lines(self, stream):
        with stream:
            for line in stream:
                self._tell(self.lines, line.rstrip("\n"))

    @property
    def records(self):
        """All that the daemon has sent to the journal, what still waits in the socket included."""
        if self.reader and self.reader.is_alive():
            mark = threading.Event()
            self.marks.append(mark)
            self._to_reader(b"mark")
            mark.wait(DEADLINE * PATIENCE)
        return self._records

    def _to_reader(self, word):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.sendto(word, os.path.join(self.journal, "socket"))

    def _listen(self):
        os.mkdir(self.journal)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        self.socket.bind(os.path.join(self.journal, "socket"))
        os.chmod(os.path.join(self.journal, "socket"), 0o666)

        def receive():
            while True:
                datagram = self.socket.recv(1 << 16)
                if datagram == b"end":
                    return
                if datagram == b"mark":
                    self.marks.popleft().set()
                else:
                    self._tell(self._records,
                               {**record_fields(datagram), "_received": time.monotonic()})
        self.reader = threading.Thread(target=receive, daemon=True)
        self.reader.start()

        def close():
            self._to_reader(b"end")
            self.reader.join(5)
            self.socket.close()
        self.lab.stack.callback(close)

    def monitor(self):
        """Keeps every signal of the daemon from now on."""
        process = subprocess.Popen(
            ["busctl", f"--address={self.bus.address}", "--json=short",
             "--match=type='signal',path_namespace='/org/mtuwatch1'", "monitor"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lab.stack.callback(end, process)
        if "Monitoring" not in process.stderr.readline():
            raise LabError("busctl monitor did not start")

        def read():
            with process.stdout, process.stderr:
                for line in process.stdout:
                    with contextlib.suppress(ValueError):
                        message = json.loads(line)
                        self._tell(self.signals, {
                            "member": message.get("member"), "path": message.get("path"),
                            "data": plain(message.get("payload", {}).get("data")),
                            "_received": time.monotonic()})
        threading.Thread(target=read, daemon=True).start()

    # asking

    def peer(self, name):
        """All properties of a peer, None while there is none of this name."""
        return self._properties(f"/org/mtuwatch1/peer/{label(name)}", "org.mtuwatch1.Peer")

    def manager(self):
        return self._properties("/org/mtuwatch1", "org.mtuwatch1.Manager")

    def _properties(self, path, interface):
        try:
            return self.bus.call(path, "org.freedesktop.DBus.Properties", "GetAll", "s", interface)
        except BusError:
            return None

    def objects(self, interface):
        """The properties of every object that has this interface."""
        try:
            tree = self.bus.call("/org/mtuwatch1", "org.freedesktop.DBus.ObjectManager",
                                 "GetManagedObjects")
        except BusError:
            return []
        return [one[interface] for one in tree.values() if interface in one]

    def peers(self):
        return {one["Name"]: one for one in self.objects("org.mtuwatch1.Peer")}

    def link(self, name):
        for one in self.objects("org.mtuwatch1.Link"):
            if one["Name"] == name:
                return one
        return None

    def check(self, peer):
        return self.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", "Check", "s", peer)

    def probe(self, address, **options):
        types = {"Interface": "s", "ExpectMTU": "u", "Method": "s", "Port": "q", "Flows": "u"}
        words = [word for key, value in options.items() for word in (key, types[key], str(value))]
        return self.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", "Probe", "sa{sv}", address,
                             str(len(options)), *words)

    def reload(self):
        return self.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", "Reload")

    def describe(self):
        return json.loads(self.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", "Describe"))

    def verdicts(self, name):
        """The announced changes of a peer so far: (before, after). The first verdict is left out:
        it may be there before the bus is."""
        return [(s["data"][2], s["data"][3]) for s in list(self.signals)
                if s["member"] == "VerdictChanged" and s["data"][0] == name
                and s["data"][2] != "unknown"]

    def told(self, peer=None, **fields):
        """Records with these fields."""
        if peer is not None:
            fields["MTUWATCH_PEER"] = peer
        return [r for r in list(self.records)
                if all(r.get(key) == str(value) for key, value in fields.items())]

    def alerts(self, peer=None):
        """Records of a person's concern: warning or worse."""
        return [r for r in self.told(peer) if int(r.get("PRIORITY", 6)) <= 4]

    # waiting

    def wait(self, what, ready, deadline=DEADLINE):
        """Until ready() returns something true; its last value is in the complaint otherwise."""
        until = time.monotonic() + deadline * PATIENCE
        while True:
            with self.news:
                seen = len(self._records) + len(self.lines) + len(self.signals)
            value = ready()
            if value:
                return value
            if self.process and self.process.poll() is not None:
                self.unavailable()
                raise AssertionError(f"the daemon ended with {self.process.returncode} "
                                     f"while waiting for {what}")
            if time.monotonic() > until:
                raise AssertionError(f"not within {deadline:.0f} s: {what}")
            with self.news:
                if seen == len(self._records) + len(self.lines) + len(self.signals):
                    self.news.wait(0.1)

    def unavailable(self):
        """Some keys have no effect yet and are refused; the case that is about them is skipped."""
        for line in self.lines:
            if self.may_lack and f"{self.may_lack}: not available in this version" in line:
                raise Skip(f"{self.may_lack}: not available in this version")

    def wait_peer(self, name, deadline=DEADLINE, **wanted):
        """Until the peer has these properties; returns all of them."""
        last = {}

        def ready():
            state = self.peer(name)
            if state is None:
                return None
            last.clear()
            last.update(state)
            return state if all(same(state.get(k), v) for k, v in wanted.items()) else None
        try:
            return self.wait(f"peer {name} {wanted}", ready, deadline)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {brief(last)}") from None

    def wait_link(self, name, deadline=DEADLINE, **wanted):
        def ready():
            state = self.link(name)
            if state and all(same(state.get(k), v) for k, v in wanted.items()):
                return state
            return None
        return self.wait(f"link {name} {wanted}", ready, deadline)

    def rounds(self, name, count, deadline=None, **always):
        """Lets `count` more rounds pass, in each of which the properties hold. Returns the last."""
        state = self.wait_peer(name)
        target = state["Rounds"] + count

        def ready():
            now = self.peer(name)
            for key, value in always.items():
                assert same(now.get(key), value), f"{name}: {key} is {now.get(key)!r}: {brief(now)}"
            return now if now["Rounds"] >= target else None
        return self.wait(f"{count} rounds of {name}", ready, deadline or DEADLINE + 5 * count)

    def rounds_of(self, names, count, deadline, **always):
        """The same for several peers together: so many a peer, whichever of them."""
        before = sum(self.wait_peer(name)["Rounds"] for name in names)

        def ready():
            peers = self.peers()
            for name in names:
                for key, value in always.items():
                    assert same(peers[name][key], value), brief(peers[name])
            return sum(peers[name]["Rounds"] for name in names) >= before + count * len(names)
        self.wait(f"{count} rounds of all peers", ready, deadline)

    def diagnosis(self):
        """What helps to understand a failure."""
        yield "configuration:"
        with open(self.file, encoding="utf-8") as file:
            yield from ("  " + line.rstrip("\n") for line in file)
        yield "output:"
        yield from ("  " + line for line in self.lines)
        yield "records:"
        for record in self.records:
            yield f"  <{record.get('PRIORITY')}> {record.get('MESSAGE')}"
        yield "verdicts:"
        for one in self.signals:
            if one["member"] == "VerdictChanged":
                yield f"  {one['data'][:4]}"
        yield "peers:"
        with contextlib.suppress(Exception):
            for state in self.peers().values():
                yield "  " + brief(state)


def same(value, wanted):
    return wanted(value) if callable(wanted) else value == wanted


def brief(state):
    keys = ("Name", "Address", "Method", "Verdict", "Severity", "PathMTU", "ReturnMTU", "ExpectedMTU",
            "LinkMTU", "Interface", "Direction", "Locus", "Confirmed", "Router", "Reason", "Flows", "FlowsFaulty", "Rounds",
            "ProbesSent", "ProbesLost", "Findings")
    return " ".join(f"{key}={state[key]}" for key in keys if key in state)
