# SPDX-License-Identifier: LGPL-2.1-or-later
"""What people use today for the same question, each as (seconds, packets, what it said)."""

import json
import re
import shutil
import subprocess
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
