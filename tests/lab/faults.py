#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The whole matrix of what fails the daemon: each system call by each error, each allocation, and what
is around it at full length; TAP, the sums of each, and in the last line how it ended.

usage: faults.py [-j N]
"""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import lab  # noqa: E402

# each by several processes
SHARED = ("faults start", "faults running", "faults memory", "faults memory-running")
WHOLE = ("descriptors", "stopped in a storm")
LONGEST = 3 * 3600  # seconds for one part
FIGURE = re.compile(r"(\d+) ([a-z ]+)(?:, |$)")


def one(job):
    name, part = job
    process = subprocess.Popen([sys.executable, os.path.join(HERE, "run.py"), "--one", name],
                               env={**os.environ, "FAULTS": part}, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, _ = process.communicate()
        output += f"FAILED not over after {LONGEST} s\n"
    left = lab.sweep(f"mw{process.pid}")
    if left:
        output += f"FAILED left behind: {' '.join(left)}\n"
    return name, part, process.returncode or bool(left), output


def figures(output):
    """Of one part: how its runs ended."""
    return {what: int(count) for line in output.splitlines() if " runs, " in line
            for count, what in FIGURE.findall(line)}


def listed(counted):
    return ", ".join(f"{count} {what}" for what, count in counted.items())


def summary(sums, failed, parts):
    whole = collections.Counter()
    for counted in sums.values():
        whole.update(counted)
    memory = sum(sums[name]["failures"] for name in SHARED if "memory" in name)
    calls = whole.pop("failures", 0) - memory
    return (f"{calls} system calls and {memory} allocations made to fail, in {listed(whole)}; "
            f"{failed} of {parts} parts failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=2 * (os.cpu_count() or 1), metavar="N")
    options = parser.parse_args()
    jobs = [(name, f"{i}/{options.j}") for name in SHARED for i in range(options.j)]
    jobs += [(name, "0/1") for name in WHOLE]
    failed, sums = 0, {name: collections.Counter() for name in SHARED}
    print(f"1..{len(jobs)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for number, (name, part, status, output) in enumerate(pool.map(one, jobs), 1):
            print(f"{'not ok' if status else 'ok'} {number} - {name} {part}")
            print("".join(f"# {line}\n" for line in output.splitlines()), end="", flush=True)
            failed += status != 0
            if name in sums:
                sums[name].update(figures(output))
    for name, counted in sums.items():
        print(f"# {name}: {listed(counted)}")
    print(f"# {summary(sums, failed, len(jobs))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
