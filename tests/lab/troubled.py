# SPDX-License-Identifier: LGPL-2.1-or-later
"""A world in which every peer's true state is known, for a daemon that has trouble; and its judge."""

import collections
import contextlib
import os
import re
import time

from case_clamp import PROTOCOL
from cases import responder, start
from daemon import BusError, config
from topology import B, switched

HOLE, GATEWAY = "192.0.2.3", "192.0.2.20"
TRUTH = {name: ("consistent", 9000) for name in
         ("echo", "six", "tcp", "udp", "respond", "named", "gateway-eth0-192.0.2.20")}
TRUTH["hole"] = ("black-hole", 1500)
# Claims about sizes; that nothing could be asked or heard is none.
CLAIMS = {"consistent", "reduced", "black-hole", "partial", "lossy"}
# The dynamic linker's, before main(); ours; and of those the ones that a service does not end with
# for good
EXITS = {127: "loader", 3: "unable", 77: "privilege", 78: "configuration"}


def build(lab):
    """Everything works except for what is above 1500 bytes on the way to `hole`."""
    a, b, s1 = switched(lab)
    c = lab.space("C")
    lab.link(s1, "narrow", c, "eth0", 9000)
    s1.mtu("narrow", 1496)
    c.address("eth0", f"{HOLE}/24")
    b.address("eth0", f"{GATEWAY}/24")
    b.sysctl("net.ipv4.icmp_ratelimit", 0)
    lab.hosts_file(a, [f"{B['ipv4']} named.test"])
    a.route(f"add default via {GATEWAY}")
    responder(lab, b)
    return a, s1


def settings(lab, **more):
    port = {"Port": 3260}
    peers = {"echo": {"Address": B["ipv4"], "Method": "icmp"}, "six": {"Address": B["ipv6"]},
             "tcp": {"Address": B["ipv4"], "Method": "tcp", **port},
             "udp": {"Address": B["ipv4"], "Method": "udp", **port},
             "respond": {"Address": B["ipv4"], "Method": "responder"},
             "named": {"Address": "named.test"}, "hole": {"Address": HOLE}}
    return config(peers, **{"Discover": "gateways storage", "Responder": "yes", "Clamp": "route",
                            "MetricsFile": os.path.join(lab.directory, "metrics.prom"),
                            "ClampAfter": 1, "FailAfter": 1, "RecoverAfter": 1, "Timeout": "300ms",
                            **more})


class Count(collections.Counter):
    """How the runs ended, as one line."""

    def __str__(self):
        told = ("runs", "failures", "not met", "clean ends", "recoveries", "wrong verdicts", "hangs", "crashes")
        return ", ".join(f"{self[one]} {one}" for one in told)


class Troubled:
    """One daemon after the other in that world."""

    def __init__(self, lab, **options):
        self.lab = lab
        self.space, self.switch = build(lab)
        self.daemon = start(lab, self.space, settings(lab), start=False, **options)
        self.truth, self.last, self.lacking = dict(TRUTH), None, set()
        self.before = {}
        self.patience = 5  # seconds
        self.count, self.ends, self.faults = Count(), collections.Counter(), []

    def fresh(self):
        """Nothing is left of an earlier one."""
        self.space.ip(f"route flush proto {PROTOCOL}")
        for told in (self.daemon.records, self.daemon.lines, self.daemon.signals):
            told.clear()

    def ended(self):
        return self.daemon.process.poll() is not None

    def may_lack(self, name):
        """It may be unreachable for as long as the trouble lasts."""
        self.lacking.add(name)

    def peers(self):
        """A call that came while there was no memory for an answer is not waited for long."""
        try:
            tree = self.daemon.bus.call("/org/mtuwatch1", "org.freedesktop.DBus.ObjectManager",
                                        "GetManagedObjects", timeout=self.patience)
        except BusError:
            return {}
        peers = [one["org.mtuwatch1.Peer"] for one in tree.values() if "org.mtuwatch1.Peer" in one]
        return {one["Name"]: one for one in peers}

    def right(self):
        """Every peer has the verdict that is true."""
        peers = self.peers()
        for name in self.lacking:
            if name in peers and peers[name]["Verdict"] == "unreachable":
                peers[name].update(Verdict=self.truth[name][0], PathMTU=self.truth[name][1])
        self.last = {name: one["Verdict"] for name, one in peers.items()
                     if one["Verdict"] != self.truth.get(name, ("",))[0]} or f"{len(peers)} peers"
        return set(peers) == set(self.truth) and all(
            (peers[name]["Verdict"], peers[name]["PathMTU"]) == truth
            for name, truth in self.truth.items())

    def wait(self, what, ready, deadline=30):
        """True once it is, None when the daemon has ended before, False when neither comes."""
        try:
            return bool(self.daemon.wait(what, lambda: self.ended() or ready(), deadline)) \
                and (None if self.ended() else True)
        except AssertionError:
            return None if self.ended() else False

    def true(self, name, verdict, size):
        """Now, or before what changes while the daemon has trouble."""
        return any(verdict == truth[0] and
                   (size is None or verdict != "black-hole" or int(size) == truth[1])
                   for truth in (self.truth.get(name), self.before.get(name)) if truth)

    def false_claims(self):
        """What was said that is not true: in the journal and by signals."""
        said = [(r.get("MTUWATCH_PEER"), r.get("MTUWATCH_VERDICT"), r.get("MTUWATCH_PATH_MTU"))
                for r in list(self.daemon.records) if r.get("MTUWATCH_PEER")]
        said += [(s["data"][0], s["data"][3], None) for s in list(self.daemon.signals)
                 if s["member"] == "VerdictChanged"]
        return [one for one in said if one[1] in CLAIMS and not self.true(*one)]

    def complaint(self):
        """What one that has ended said last; its words may still be on the way."""
        until = time.monotonic() + 3
        while True:
            said = [x for x in list(self.daemon.lines) if x.startswith("mtuwatchd: ")
                    or "error while loading shared libraries" in x]
            if said or time.monotonic() > until:
                return said[-1] if said else ""
            time.sleep(0.01)

    def fault(self, kind, what, why):
        self.count[kind] += 1
        self.faults.append(f"{what}: {why}")
        print(f"FAULT {what}: {why}", flush=True)

    def judge(self, what, right, status, met):
        """Of one that was started with trouble: `right` is what wait() said of it, `status` its end,
        `met` how often something failed it."""
        self.count["runs"] += 1
        self.count["failures"] += met
        words = self.complaint() if right is None else ""
        claims = self.false_claims()
        sanitizer = [x for x in self.daemon.lines if "Sanitizer" in x or "runtime error:" in x]
        if claims:
            self.fault("wrong verdicts", what, claims)
        elif sanitizer or status < 0 or status not in (EXITS if right is None else {0}):
            self.fault("crashes", what, f"ended with {status} {words} {sanitizer}")
        elif right is False:
            self.fault("hangs", what, f"does not come to the true verdicts: {self.last}")
        elif status in (77, 78) and not re.search("EPERM|EINVAL", what):
            self.fault("ends for good", what, f"of what passes: {status}, {words!r}")
        elif right is None and not names_what_failed(words):
            self.fault("unclear ends", what, f"ended with {status}, saying {words!r}")
        elif right is None:
            self.count["clean ends"] += 1
            self.ends[(status, words)] += 1
        else:
            self.count["recoveries" if met else "not met"] += 1

    def life(self, what, begin, stop, met):
        """From its start with trouble until all is well, or to its end."""
        self.fresh()
        begin()
        right = self.wait("the true verdicts", self.right)
        if right:
            with contextlib.suppress(BusError):
                self.daemon.describe()
        status = stop()
        # what was to fail may do so after all was well
        self.judge(what, None if right and status else right, status, met())

    def strike(self, what, trouble, met=None):
        """In the midst of its life; one that goes on is left running. `met`: as what trouble()
        returns, if that is known only afterwards."""
        count = trouble()
        right = self.wait("the true verdicts", self.right)
        status = self.daemon.stop() if right is not True else 0
        self.judge(what, right, status, met() if met else count)

    def change(self, what):
        """The narrow place becomes wide, and narrow again: it sees both."""
        if self.daemon.process is None:
            return
        for mtu, truth in ((9000, ("consistent", 9000)), (1496, ("black-hole", 1500))):
            self.switch.mtu("narrow", mtu)
            self.truth["hole"] = truth
            if not self.wait("the new verdict", self.right):
                self.fault("hangs", what, f"does not see that hole is {truth} now")
            for told in (self.daemon.records, self.daemon.signals):
                told.clear()

    def told(self):
        """Prints the figure; False when there is anything wrong in it."""
        print(self.count)
        return not self.faults


def names_what_failed(words):
    """More than that something did not work at the start."""
    return bool(words) and not re.match(r"mtuwatchd: (starting|running): [A-Z][^:]*$", words)
