# SPDX-License-Identifier: LGPL-2.1-or-later
"""explain, measure and the demo, over real networks."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

import topology
from cases import case, consistent, equal, start
from daemon import CTL, config, end
from lab import LabError, Skip, run

HERE = os.path.dirname(os.path.abspath(__file__))
# Of one processor, in percent, for both ends of a measurement together.
PROCESSOR_SHARE = 30
TRICKLE = "tbf rate {} burst 64kb latency 50ms"


def ctl(daemon, *words, status=0, locale="C.UTF-8", timeout=200, prefix=()):
    done = subprocess.run([*prefix, *daemon.space.command(CTL, *words)], capture_output=True, text=True,
                          timeout=timeout, stdin=subprocess.DEVNULL, check=False,
                          env={**daemon.environment(), "LC_ALL": locale})
    assert done.returncode == status, f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
    assert all(len(line) <= 80 or line.startswith(" " * 8) for line in done.stdout.splitlines()
               if words[0] == "explain" and "--json=short" not in words), done.stdout
    return done.stdout + done.stderr


def explained(daemon, name):
    return json.loads(ctl(daemon, "explain", name, "--json=short"))["Paths"][0]


def commands(path):
    return [line for action in path["Actions"] for line in action["Commands"]]


def narrow(path):
    return [(step["Name"], step["MTU"]) for step in path["Steps"] if step["Narrow"]]


@case("explain-black-hole", "the proof it prints is true, and the command it prints heals", "ipv4",
      "ipv6")
def explain_black_hole(lab, family):
    a, _b, s1 = topology.switched(lab)
    daemon = start(lab, a, config({"san": {"Address": topology.B[family]}}))
    consistent(daemon, "san", 9000)
    equal("narrow while all is well", narrow(explained(daemon, "san")), [])
    topology.limit(s1, 1500)
    daemon.wait_peer("san", Verdict="black-hole", Confirmed=True)
    path = explained(daemon, "san")
    equal("narrow", narrow(path), [("switch or tunnel", 1500)])
    pings = [line.split("#") for line in commands(path) if line.startswith("ping ")]
    equal("pings", [remark.strip() for _command, remark in pings],
          ["1500 bytes: answered", "1501 bytes: not answered"])
    for (command, _remark), status in zip(pings, (0, 1)):
        done = subprocess.run(a.command("sh", "-c", command + " -W 1"), capture_output=True,
                              check=False, timeout=60)
        equal(command, done.returncode, status)
    text = ctl(daemon, "explain", "san")
    assert "<== narrow" in text and "━" in text and "The proof" in text, text
    text = ctl(daemon, "explain", "san", locale="C")
    assert "=====" in text and text.isascii(), text
    route = next(line for line in commands(path) if line.startswith("ip "))
    run(a.command("sh", "-c", route))
    daemon.wait_peer("san", KernelMTU=1500, ExpectedMTU=1500)
    path = explained(daemon, "san")
    assert "none were" not in " ".join(path["Evidence"]), path
    consistent(daemon, "san", 1500)


@case("explain-routed", "which router to look behind, and which one said no")
def explain_routed(lab):
    a, r1, _b = topology.routed(lab, 9000)
    r1.filter("deep", ["meta length > 1500 drop"], hook="forward")
    daemon = start(lab, a, config({"far": {"Address": topology.FAR["ipv4"]}}))
    daemon.wait_peer("far", Verdict="black-hole",
                     Locus=lambda place: place == f"after {topology.R1['ipv4']}")
    path = explained(daemon, "far")
    equal("narrow", narrow(path), [("beyond it", 1500)])
    steps = {step["Name"]: step["MTU"] for step in path["Steps"]}
    equal("the router", steps[topology.R1["ipv4"]], 9000)
    assert topology.R1["ipv4"] in path["Diagnosis"][0], path["Diagnosis"]
    r1.unfilter("deep")
    r1.mtu("far", 1500)
    daemon.wait_peer("far", Verdict="reduced", Locus=f"at {topology.R1['ipv4']}")
    path = explained(daemon, "far")
    equal("narrow", narrow(path), [(topology.R1["ipv4"], 1500)])


@case("explain-stack", "a bridge is raised port first, and what is printed does it")
def explain_stack(lab):
    a, b = lab.space("A"), lab.space("B")
    lab.link(a, "p0", b, "eth0", 1500, 9000)
    a.ip("link add br1 type bridge")
    a.ip("link set p0 master br1")
    a.up("br1")
    a.address("br1", "192.0.2.1/24")
    b.address("eth0", "192.0.2.2/24")
    daemon = start(lab, a, config({"b": {"Address": "192.0.2.2", "ExpectMTU": 9000}}))
    daemon.wait_peer("b", Verdict="misconfigured")
    path = explained(daemon, "b")
    lines = [line for line in commands(path) if line.startswith("ip link")]
    equal("commands", lines, ["ip link set dev p0 mtu 9000", "ip link set dev br1 mtu 9000"])
    for line in lines:
        run(a.command("sh", "-c", line))
    consistent(daemon, "b", 9000)
    equal("nothing is left to do", explained(daemon, "b")["Actions"], [])


# --- measure ---

def slowed(lab):
    """The words that run a command with a small share of a processor, so that this is the limit
    and the other cases have the rest. Without such a group the whole of one is the limit."""
    for root, file, text in (("/sys/fs/cgroup", "cpu.max", f"{PROCESSOR_SHARE}000 100000"),
                             ("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", f"{PROCESSOR_SHARE}000")):
        group = os.path.join(root, f"{lab.prefix}-slowed")
        try:
            os.mkdir(group)
        except OSError:
            continue
        lab.stack.callback(os.rmdir, group)
        with contextlib.suppress(OSError), \
                open(os.path.join(group, file), "r+", encoding="ascii") as limit:
            limit.write(text)
            return ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
    return ()


def server(lab, space, *prefix):
    if not shutil.which("iperf3"):
        raise Skip("needs iperf3")
    process = subprocess.Popen([*prefix, *space.command("iperf3", "-s")], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lab.stack.callback(end, process)
    until = time.monotonic() + 20
    while not run(space.command("ss", "-Hlnt", "sport = :5201")).strip():
        assert time.monotonic() < until and process.poll() is None, "iperf3 -s does not listen"
        time.sleep(0.05)
    return process


def measured(daemon, *words, prefix=()):
    shown = json.loads(ctl(daemon, "measure", "b", "--json=short", *words, prefix=prefix))
    return {(one["MTU"], one["Direction"]): one for one in shown["Series"]}


def processor_bound(lab, offloads):
    """A-F-B, where F routes and the processor is the limit. Without offloads each packet costs it;
    with them 64 KiB go through as one, whatever the MTU."""
    lab.with_offloads = offloads
    a, f, b = lab.space("A"), lab.space("F", router=True), lab.space("B")
    lab.link(a, "eth0", f, "left", 9000)
    lab.link(f, "right", b, "eth0", 9000)
    a.address("eth0", "192.0.2.1/25")
    f.address("left", "192.0.2.2/25")
    f.address("right", "192.0.2.130/25")
    b.address("eth0", "192.0.2.129/25")
    a.route("add default via 192.0.2.2")
    b.route("add default via 192.0.2.130")
    prefix = slowed(lab)
    server(lab, b, *prefix)
    daemon = start(lab, a, config({"b": {"Address": "192.0.2.129"}}, Interval="1h"))
    consistent(daemon, "b", 9000)
    return daemon, prefix


def measured_until(daemon, prefix, *worth):
    """What is measured; again where a busy machine made the runs too different to tell."""
    for _ in range(4):
        series = measured(daemon, "--time=1s", "--runs=3", prefix=prefix)
        if all(series[9000, way]["Worth"] in worth for way in ("forward", "return")):
            break
    return series


@case("measure-gain", "where the processor is the limit and each packet costs it, 9000 is faster")
def measure_gain(lab):
    daemon, prefix = processor_bound(lab, offloads=False)
    series = measured_until(daemon, prefix, "faster")
    equal("series", set(series), {(1500, "forward"), (1500, "return"), (9000, "forward"),
                                  (9000, "return")})
    for way in ("forward", "return"):
        small, large = series[1500, way], series[9000, way]
        equal("MSS", (small["MSS"], large["MSS"]), (1460, 8960))
        equal("runs", [len(one["Runs"]) for one in (small, large)], [3, 3])
        assert not small["Stalled"] and not large["Stalled"], (small, large)
        assert large["MedianBitsPerSecond"] > 1.3 * small["MedianBitsPerSecond"], (small, large)
        assert all(one["CPUSender"] > 0 for one in large["Runs"]), large
        equal("worth", large["Worth"], "faster")


@case("measure-offloads", "where offloads make both sizes cost the same, there is no gain: stay at 1500")
def measure_offloads(lab):
    daemon, prefix = processor_bound(lab, offloads=True)
    series = measured_until(daemon, prefix, "none")
    for way in ("forward", "return"):
        equal(f"worth {way}", series[9000, way]["Worth"], "none")


@case("measure-no-gain", "a line that is the limit gains nothing by larger packets")
def measure_no_gain(lab):
    a, b = topology.direct(lab, 9000)
    server(lab, b)
    for space in (a, b):
        try:
            run(["tc", "-n", space.name, "qdisc", "add", "dev", "eth0", "root",
                 *TRICKLE.format("50mbit").split()])
        except LabError as error:
            raise Skip(f"needs tbf: {error}") from None
    daemon = start(lab, a, config({"b": {"Address": topology.B["ipv4"]}}, Interval="1h"))
    daemon.wait_peer("b", Verdict="consistent")
    series = measured(daemon, "--sizes=8000,9000", "--time=1s", "--runs=3")
    for way in ("forward", "return"):
        assert series[9000, way]["Worth"] in ("none", "cheaper"), series[9000, way]
    text = ctl(daemon, "measure", "b", "--sizes=9000", "--time=1s", "--runs=1")
    assert "One size alone" in text, text


@case("measure-black-hole", "a size that gets lost is said to stall, in bounded time", "ipv4", "ipv6")
def measure_black_hole(lab, family):
    a, b, s1 = topology.switched(lab)
    server(lab, b)
    daemon = start(lab, a, config({"b": {"Address": topology.B[family]}}))
    consistent(daemon, "b", 9000)
    topology.limit(s1, 1500)
    daemon.wait_peer("b", Verdict="black-hole")
    began = time.monotonic()
    text = ctl(daemon, "measure", "b", "--time=1s", "--runs=2")
    assert time.monotonic() - began < 90, f"{time.monotonic() - began:.0f} s"
    for way in ("To", "From"):
        assert f"{way} the peer: 9000 stalls where 1500 runs" in " ".join(text.split()), text
    assert text.count("stalled") >= 2, text


@case("measure-unable", "no server, no iperf3, sizes that cannot be tried: each is said")
def measure_unable(lab):
    a, b = topology.direct(lab, 9000, 1500)
    daemon = start(lab, a, config({"b": {"Address": topology.B["ipv4"], "ExpectMTU": 1500}}))
    consistent(daemon, "b", 1500)
    said = ctl(daemon, "measure", "b", "--time=1s", status=3)
    assert "no iperf3 server answers at 192.0.2.2 port 5201" in said and '"iperf3 -s"' in said, said
    server(lab, b)
    said = ctl(daemon, "measure", "b", "--sizes=1500,9000", "--time=1s", status=3)
    assert "agree on packets of at most 1500" in said, said
    said = ctl(daemon, "measure", "b", "--sizes=9001", status=3)
    assert "link eth0 has an MTU of 9000" in said, said
    empty = os.path.join(lab.directory, "empty")
    os.mkdir(empty)
    words = ("env", f"PATH={empty}", os.path.abspath(CTL), "measure", "b")
    done = subprocess.run(a.command(*words),
                          capture_output=True, text=True, check=False, timeout=60,
                          env=daemon.environment())
    assert done.returncode == 3 and "iperf3 is not installed here" in done.stderr, done.stderr
    for words in (("--sizes=0",), ("--sizes=1500,1500",), ("--sizes=",), ("--time=1500ms",),
                  ("--runs=0",), ("--port=0",), ("--host=there",)):
        ctl(daemon, "measure", "b", *words, status=64)
    said = ctl(daemon, "measure", "bb", status=3)
    assert 'did you mean "b"?' in said, said


# --- demo ---

@case("demo", "found, explained and healed in under a minute, and nothing left behind")
def demo(_lab):
    began = time.monotonic()
    process = subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "demo.py")],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C.UTF-8"})
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 0, f"it ended with {process.returncode}: {said}"
    print(f"{time.monotonic() - began:.0f} s")
    for wanted in ("9000/9000 consistent", "1 received, 0% packet loss", "journal: peer san",
                   "black-hole: packets above 1500", "<== narrow", "meanwhile 0 bytes", "mtu lock 1500",
                   "The copy is through: 1048576 bytes", "was black-hole at 1500 bytes",
                   "the clamp is gone"):
        assert wanted in said, f"no {wanted!r} in {said}"
    spaces = run(["ip", "netns", "list"])
    assert f"mw{process.pid}-" not in spaces, spaces
