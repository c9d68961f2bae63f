# SPDX-License-Identifier: LGPL-2.1-or-later
"""What people use today for the same question, each as (seconds, packets, what it said)."""

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import time

TOOL_LONGEST = 100  # seconds; tracepath takes 91 for a silent hole


def sent_packets(space):
    return json.loads(space.ip("-j -s link show eth0"))[0]["stats64"]["tx"]["packets"]


def flush(space):
    space.ip("route flush cache")


def timed(space, argv, pattern, longest=TOOL_LONGEST):
    if not shutil.which(argv[0]):
        return None
    flush(space)
    packets, begin = sent_packets(space), time.monotonic()
    try:
        done = subprocess.run(space.command(*argv), capture_output=True, text=True,
                              timeout=longest, check=False)
        text = done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        return longest, sent_packets(space) - packets, f"not over after {longest} s"
    seconds = time.monotonic() - begin
    found = re.findall(pattern, text)
    return seconds, sent_packets(space) - packets, found[-1] if found else "nothing"


def ping_bisect(space, address, full):
    """What a person does by hand, as fast as a script can."""
    flush(space)
    packets, begin = sent_packets(space), time.monotonic()
    low, high = 68, full + 1
    while high - low > 1:
        middle = (low + high) // 2
        done = subprocess.run(space.command("ping", "-M", "do", "-n", "-q", "-c1", "-W1", "-s",
                                            str(middle - 28), address), capture_output=True,
                              check=False)
        low, high = (middle, high) if done.returncode == 0 else (low, middle)
    return time.monotonic() - begin, sent_packets(space) - packets, low


def tools(space, address, size, slow=False):
    payload = str(size - 28)
    yield "fping", timed(space, ["fping", "-M", "-c1", "-t1000", "-b", payload, address],
                         r"(\d+% loss|alive|min/avg)")
    yield "ping -c1", timed(space, ["ping", "-M", "do", "-n", "-q", "-c1", "-W1", "-s", payload,
                                    address], r"(\d+)% packet loss")
    if shutil.which("scamper") and shutil.which("sc_wartsdump"):
        # only its own format holds the number
        yield "scamper -w1", timed(space, ["sh", "-c", 'scamper -O warts -I "$1" | sc_wartsdump',
                                           "sh", f"trace -M -w 1 {address}"],
                                   r"ifmtu \d+, pmtu (\d+)")
    if slow:
        yield "tracepath", timed(space, ["tracepath", "-n", address], r"pmtu (\d+)")
        if size > 1500:
            yield "ping bisect", ping_bisect(space, address, size)


# many peers at once, each as (CPU seconds, seconds, packets, how many were called bad)

BLACKBOX_MODULE = """modules:
  mtu:
    prober: icmp
    timeout: 5s
    icmp: {{preferred_ip_protocol: ip4, dont_fragment: true, payload_size: {payload}}}
"""

# So many at a time, as Prometheus spreads its scrapes: all at once its sockets overflow.
SCRAPES = """
import sys, urllib.request
from concurrent.futures import ThreadPoolExecutor
def good(peer):
    url = f"http://127.0.0.1:9115/probe?module=mtu&target={peer}"
    with urllib.request.urlopen(url, timeout=20) as answer:
        return b"\\nprobe_success 1" in answer.read()
with ThreadPoolExecutor(16) as pool:
    peers = sys.stdin.read().split()
    print("bad", len(peers) - sum(pool.map(good, peers)))
"""


def child_cpu(argv, text=None, longest=TOOL_LONGEST):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False,
                          timeout=longest)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            time.monotonic() - begin, done)


def crowd_fping(space, peers, size):
    if not shutil.which("fping"):
        return None
    packets = sent_packets(space)
    cpu, wall, done = child_cpu(space.command("fping", "-q", "-i0", "-r0", "-M", "-b",
                                              str(size - 28), "-s"), "\n".join(peers) + "\n")
    bad = re.search(r"(\d+) unreachable", done.stderr)
    return cpu, wall, sent_packets(space) - packets, bad.group(1) if bad else "?"


def crowd_scamper(space, peers, size):
    if not shutil.which("scamper"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "peers")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(peers) + "\n")
        packets = sent_packets(space)
        cpu, wall, _ = child_cpu(space.command(
            "scamper", "-o", "/dev/null", "-p", "2000", "-w", str(len(peers)), "-c",
            f"ping -c 1 -s {size}", "-f", path))
    # where there is no delay it misses answers that come while it is still sending
    return cpu, wall, sent_packets(space) - packets, "not checked"


def crowd_blackbox(space, peers, size):
    exporter = shutil.which("prometheus-blackbox-exporter") or shutil.which("blackbox_exporter")
    if not exporter:
        return None
    space.ip("link set lo up")
    with tempfile.NamedTemporaryFile("w", suffix=".yml") as file:
        file.write(BLACKBOX_MODULE.format(payload=size - 28))
        file.flush()
        process = subprocess.Popen(space.command(exporter, f"--config.file={file.name}",
                                                 "--web.listen-address=127.0.0.1:9115"),
                                   stderr=subprocess.PIPE, text=True)
        try:
            while "9115" not in process.stderr.readline():
                if process.poll() is not None:
                    return None
            packets, begin = sent_packets(space), time.monotonic()
            _, _, done = child_cpu(space.command("python3", "-c", SCRAPES), "\n".join(peers),
                                   longest=300)
            wall, packets = time.monotonic() - begin, sent_packets(space) - packets
        finally:
            process.terminate()
            process.stderr.close()
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
    bad = re.search(r"bad (\d+)", done.stdout)
    return usage.ru_utime + usage.ru_stime, wall, packets, bad.group(1) if bad else "?"


def crowd_tools(space, peers, size):
    yield "fping -i0", crowd_fping(space, peers, size)
    yield "scamper ping", crowd_scamper(space, peers, size)
    yield "blackbox_exporter", crowd_blackbox(space, peers, size)
