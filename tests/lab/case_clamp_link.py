# SPDX-License-Identifier: LGPL-2.1-or-later
"""Clamps of whole links: who has a say, what stands on the link, records, trials, and others."""

import os
import subprocess

from case_clamp import CLAMPED, RELEASED, YIELDED, Transfer, clamps, refused, release, state
from cases import black_hole, case, consistent, equal, start
from daemon import DEADLINE, config
from topology import A, B, FAMILIES, direct, limit, switched

QUICK = dict(Clamp="link", ClampAfter=1, ClampRetry="10s")


def mtus(space):
    return dict(one[:2] for one in state(space)[0])


def with_record(lab, daemon):
    """A runtime directory that outlives the daemon."""
    folder = os.path.join(lab.directory, "runtime")
    os.makedirs(folder, exist_ok=True)
    environment = daemon.environment
    daemon.environment = lambda: {**environment(), "RUNTIME_DIRECTORY": folder}
    return folder


def begin(lab, space, text):
    daemon = start(lab, space, text, start=False)
    folder = with_record(lab, daemon)
    daemon.start()
    return daemon, folder


def wait_mtu(daemon, space, wanted, device="eth0", deadline=DEADLINE):
    daemon.wait(f"{device} at {wanted}", lambda: mtus(space)[device] == wanted, deadline)


@case("M01link", "all peers of the link have the fault: the link is clamped, tried, and comes back",
      *FAMILIES)
def m01(lab, family):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    other = {"ipv4": "ipv6", "ipv6": "ipv4"}[family]
    daemon, folder = begin(lab, a, config({
        "san": {"Address": B[family], "ExpectMTU": 9000},
        "also": {"Address": B[other]}}, **QUICK))
    wait_mtu(daemon, a, 1500)
    equal("records", len(os.listdir(folder)), 1)
    for name in ("san", "also"):
        daemon.wait_peer(name, Verdict="black-hole", PathMTU=1500, ClampMTU=1500, ClampKind="link",
                         KernelMTU=1500, ExpectedMTU=9000)
    daemon.wait_link("eth0", OriginalMTU=9000, MTU=1500, Severity="ok", Findings=[])
    equal("Clamped", daemon.manager()["Clamped"], 3)
    record, = daemon.told(MESSAGE_ID=CLAMPED)
    equal("MTUWATCH_LINK", record["MTUWATCH_LINK"], "eth0")
    # our own change is nobody's news
    equal("link records", [r["MESSAGE"] for r in daemon.records if "MTU 1500, was" in r["MESSAGE"]], [])
    # tried while it is still bad, with the peers' packets kept small: back again
    daemon.wait("a trial", lambda: mtus(a)["eth0"] == 9000)
    daemon.wait("the locks", lambda: mtus(a)["eth0"] == 9000 and clamps(a) or
                mtus(a)["eth0"] == 1500)
    wait_mtu(daemon, a, 1500)
    daemon.wait("no locks", lambda: clamps(a) == {})
    daemon.wait_peer("san", Verdict="black-hole", ClampKind="link")
    s1.mtu("trunk", 9000)
    daemon.wait("the end of the clamp", lambda: daemon.told(MESSAGE_ID=RELEASED))
    consistent(daemon, "san", 9000, ClampMTU=0)
    daemon.wait("no locks", lambda: clamps(a) == {})
    consistent(daemon, "also", 9000, ClampMTU=0)
    daemon.wait_link("eth0", OriginalMTU=0, MTU=9000)
    equal("what was there before", state(a), before)
    equal("records", os.listdir(folder), [])
    assert not [r for r in daemon.told("san") if r.get("MTUWATCH_VERDICT") == "misconfigured"]


@case("clamp-again", "a clamped link that goes down and up, and a daemon that starts anew: still clamped")
def again(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    wait_mtu(daemon, a, 1500)
    daemon.wait_peer("san", ClampKind="link")
    a.down("eth0")
    daemon.wait_peer("san", Verdict="unreachable")
    daemon.rounds("san", 2)
    equal("down", mtus(a)["eth0"], 1500)
    a.up("eth0")
    daemon.wait_peer("san", Verdict="black-hole", ClampKind="link")
    for _ in range(2):
        daemon.process.kill()
        daemon.process.wait()
        daemon.start()
        daemon.wait_peer("san", Verdict="black-hole", ClampKind="link", PathMTU=1500)
        daemon.rounds("san", 5, ClampKind="link", ClampMTU=1500)
    equal("records", len(os.listdir(folder)), 1)
    equal("released", daemon.told(MESSAGE_ID=RELEASED), [])
    release(daemon, "san")
    equal("its MTU", mtus(a)["eth0"], 9000)
    daemon.rounds("san", 3, ClampMTU=0)


@case("clamp-trial", "a transfer goes on while it is tried whether the clamp can come off", *FAMILIES)
def trial(lab, family):
    a, b, s1 = switched(lab)
    limit(s1, 1500)
    daemon, _ = begin(lab, a, config({"san": {"Address": B[family], "ExpectMTU": 9000}}, **QUICK))
    wait_mtu(daemon, a, 1500)
    daemon.wait_link("eth0", OriginalMTU=9000)
    sick = Transfer(lab, a, b, B[family])
    daemon.wait("the transfer", sick.flows)
    sick.longest = 0.0
    for _ in range(2):
        daemon.wait("a trial", lambda: mtus(a)["eth0"] == 9000)
        wait_mtu(daemon, a, 1500)
    assert sick.flows()
    print(f"the transfer paused {sick.longest:.2f} s at most")
    assert sick.longest < 3, sick.longest
    equal("clamped once", len(daemon.told(MESSAGE_ID=CLAMPED)), 1)


@case("M03link", "another peer by the link is good at more: a route then, and the link stays", *FAMILIES)
def m03(lab, family):
    a, _, s1 = switched(lab)
    c = lab.space("C")
    lab.link(s1, "pc", c, "eth0", 9000)
    healthy = {"ipv4": "192.0.2.3", "ipv6": "2001:db8:1::3"}[family]
    c.address("eth0", f"{healthy}/{24 if family == 'ipv4' else 64}")
    before = state(a)
    limit(s1, 1500)
    daemon, _ = begin(lab, a, config({"san": {"Address": B[family], "ExpectMTU": 9000},
                                      "well": {"Address": healthy}}, **QUICK))
    daemon.wait("the route", lambda: clamps(a) == {B[family]: 1500})
    daemon.wait_peer("san", ClampKind="route", ClampMTU=1500)
    daemon.rounds("san", 3, ClampKind="route")
    equal("the links", state(a)[0], before[0])
    s1.mtu("trunk", 9000)
    daemon.wait("its end", lambda: clamps(a) == {})


@case("clamp-quorum", "most peers of the link say nothing: a route then")
def quorum(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    peers = {"san": {"Address": B["ipv4"], "ExpectMTU": 9000},
             "gone": {"Address": "192.0.2.77"}}
    daemon, _ = begin(lab, a, config(peers, **QUICK))
    daemon.wait("the route", lambda: clamps(a) == {B["ipv4"]: 1500})
    daemon.rounds("san", 3, ClampKind="route", LinkMTU=9000)


@case("clamp-link-floor", "a link with IPv6 is never below 1280, one without not below the floor")
def floor(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1200)
    before = state(a)
    peers = {"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}
    daemon, _ = begin(lab, a, config(peers, **{**QUICK, "ClampFloor": 68}))
    black_hole(daemon, "san", 1200)
    daemon.wait("a refusal", lambda: refused(daemon, "san"))
    assert "1280" in refused(daemon, "san")[0]["MESSAGE"], refused(daemon, "san")[0]["MESSAGE"]
    daemon.rounds("san", 3, LinkMTU=9000, ClampMTU=0)
    equal("what was there before", state(a), before)
    a.sysctl("net/ipv6/conf/eth0/disable_ipv6", 1)
    wait_mtu(daemon, a, 1200)


@case("M48link", "what stands on the link goes along and comes back, in the right order")
def m48(lab):
    a, _, s1 = switched(lab)
    a.ip("link add mv0 link eth0 mtu 9000 type macvlan mode bridge")
    a.address("mv0", "192.0.2.11/24", "2001:db8:1::11/64")
    a.ip("link add vx0 type vxlan id 9 dstport 4789 dev eth0 remote 192.0.2.2")
    for device in ("mv0", "vx0"):
        a.up(device)
    a.sysctl("net.ipv4.conf.all.arp_ignore", 1)
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "Interface": "eth0"}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    consistent(daemon, "san", 9000)
    before = state(a)
    was = {"eth0": 9000, "mv0": 9000, "vx0": 8950}
    equal("MTUs", {k: v for k, v in mtus(a).items() if k in was}, was)
    limit(s1, 1500)
    wait_mtu(daemon, a, 1500)
    daemon.wait("the others", lambda: mtus(a)["mv0"] == 1500 and mtus(a)["vx0"] <= 1450)
    daemon.wait_peer("san", ClampKind="link")
    # killed, and taken over
    daemon.process.kill()
    daemon.process.wait()
    daemon.start()
    daemon.wait_peer("san", ClampKind="link", Verdict="black-hole", PathMTU=1500)
    daemon.wait_link("eth0", OriginalMTU=9000)
    s1.mtu("trunk", 9000)
    release(daemon, "eth0")
    equal("what was there before", state(a), before)
    equal("records", os.listdir(folder), [])
    consistent(daemon, "san", 9000)
    told = [r["MESSAGE"] for r in daemon.records if ", was " in r["MESSAGE"] and "link " in r["MESSAGE"]
            and "clamped" not in r["MESSAGE"]]
    equal("news of links", told, [])


@case("clamp-stack", "an IPv6 MTU of its own, which a clamp would lose: not clamped, and said")
def stack(lab):
    a, _, s1 = switched(lab)
    a.sysctl("net/ipv6/conf/eth0/mtu", 4000)
    limit(s1, 1500)
    before = state(a)
    daemon, _ = begin(lab, a, config({"san": {"Address": B["ipv4"]}}, **QUICK))
    black_hole(daemon, "san", 1500)
    daemon.wait("a refusal", lambda: refused(daemon, "san"))
    daemon.rounds("san", 3, ClampMTU=0)
    equal("refusals", len(refused(daemon, "san")), 1)
    equal("what was there before", state(a), before)


@case("clamp-fight", "somebody else sets the MTU back: yielded to, twice at most")
def fight(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    for number in (1, 2):
        wait_mtu(daemon, a, 1500)
        daemon.wait_link("eth0", OriginalMTU=9000)
        a.mtu("eth0", 9000)
        daemon.wait("the yielding", lambda n=number: len(daemon.told(MESSAGE_ID=YIELDED)) == n)
    daemon.rounds("san", 6, Verdict="black-hole", LinkMTU=9000, ClampMTU=0)
    equal("yieldings", len(daemon.told(MESSAGE_ID=YIELDED)), 2)
    equal("records", os.listdir(folder), [])
    # once the fault has been gone it may be treated again
    s1.mtu("trunk", 9000)
    consistent(daemon, "san", 9000)
    # a value of their own is theirs
    a.mtu("eth0", 4000)
    daemon.wait_link("eth0", MTU=4000)
    daemon.rounds("san", 3)
    equal("their MTU", mtus(a)["eth0"], 4000)


@case("clamp-vanish", "a clamped link that vanishes, and one of its name that comes")
def vanish(lab):
    a, b = direct(lab, 9000)
    b.drop_above(1500, "eth0")
    daemon, folder = begin(lab, a, config({"san": {"Address": B["ipv4"], "Interface": "eth0",
                                                   "ExpectMTU": 9000}},
                                          **{**QUICK, "ClampRetry": "1h"}))
    wait_mtu(daemon, a, 1500)
    a.ip("link del eth0")
    daemon.wait("no record", lambda: os.listdir(folder) == [])
    lab.link(a, "eth0", b, "eth0", 4000)
    a.address("eth0", f"{A['ipv4']}/24")
    daemon.wait_link("eth0", MTU=4000, OriginalMTU=0)
    equal("its MTU", mtus(a)["eth0"], 4000)


@case("clamp-record", "a runtime directory that is missing, full or read-only: nothing is changed")
def record(lab):
    a, _, s1 = switched(lab)
    limit(s1, 1500)
    before = state(a)
    daemon = start(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **QUICK),
                   start=False)
    folder = with_record(lab, daemon)
    shell = daemon.shell
    for mount in (f"mount --bind {folder} {folder} && mount -o remount,bind,ro {folder}",
                  f"mount -t tmpfs -o size=4k,nr_inodes=1 tmpfs {folder}", f"rmdir {folder}"):
        def prepared(*words, mount=mount):
            line = shell(*words)
            at = next(i for i, w in enumerate(line) if w.startswith("mount -t tmpfs tmpfs /run"))
            line[at] = f"{mount} && {line[at]}"
            return line
        daemon.shell = prepared
        daemon.records.clear()
        daemon.start()
        black_hole(daemon, "san", 1500)
        daemon.wait("a refusal", lambda: refused(daemon, "san"))
        assert "runtime directory" in refused(daemon, "san")[0]["MESSAGE"], refused(daemon, "san")
        daemon.rounds("san", 2, ClampMTU=0, LinkMTU=9000)
        equal("what was there before", state(a), before)
        equal("its end", daemon.stop(), 0)


def without_privilege(daemon, *words):
    """The daemon's command line, typed by somebody who may not even read the records."""
    shell = daemon.shell(*words)
    at = len(shell) - len(words) - 1
    shell[at:at] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(shell, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env=daemon.environment(), check=False)
    return done.returncode, done.stderr


@case("clamp-link-release", "--release undoes a link without a daemon; Clamp=off at the next start too")
def offline(lab):
    a, _, s1 = switched(lab)
    before = state(a)
    limit(s1, 1500)
    peers = {"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}
    daemon, folder = begin(lab, a, config(peers, **QUICK))
    wait_mtu(daemon, a, 1500)
    equal("its end", daemon.stop(), 0)
    equal("after a stop", mtus(a)["eth0"], 1500)
    for mode in (0o700, 0o755):
        os.chmod(lab.directory, mode)
        status, said = without_privilege(daemon, "--release")
        equal(f"--release by anybody, who is told {said!r}", status, 77)
        assert "run as root" in said, said
        equal("after that", mtus(a)["eth0"], 1500)
    status, said, _ = daemon.once("--release")
    equal("--release", status, 0)
    assert "9000" in said, said
    equal("what was there before", state(a), before)
    equal("records", os.listdir(folder), [])
    daemon.start()
    wait_mtu(daemon, a, 1500)
    equal("its end", daemon.stop(), 0)
    daemon.write(config(peers))
    daemon.start()
    wait_mtu(daemon, a, 9000)
    equal("what was there before", state(a), before)


@case("M21link", "a bridge above a small port: the bridge, and never the port")
def m21(lab):
    a, b = lab.space("A"), lab.space("B")
    lab.link(a, "p0", b, "eth0", 1500, 9000)
    a.ip("link add br0 type bridge forward_delay 0")
    a.ip("link set p0 master br0")
    a.mtu("br0", 9000)
    a.up("br0")
    a.address("br0", f"{A['ipv4']}/24")
    b.address("eth0", f"{B['ipv4']}/24")
    daemon, _ = begin(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}},
                                     **{**QUICK, "ClampRetry": "1h"}))
    size = daemon.wait_peer("san", Verdict="black-hole", Confirmed=True)["PathMTU"]
    wait_mtu(daemon, a, size, "br0")
    equal("the port", mtus(a)["p0"], 1500)
    release(daemon, "br0")
    equal("the bridge", mtus(a)["br0"], 9000)
