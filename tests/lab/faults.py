#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The whole matrix of what fails the daemon: each system call by each error, each allocation, and what
is around it at full length; TAP, and the sums at the end.

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
SHARED = ("faults start", "faults running", "faults memory")  # each by several processes
WHOLE = ("descriptors", "stopped in a storm")
FIGURE = re.compile(r"(\d+) ([a-z ]+)(?:, |$)")


def one(job):
    name, part = job
    done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--one", name],
                          env={**os.environ, "FAULTS": part}, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return name, part, done.returncode, done.stdout


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
            for line in output.splitlines():
                if name in sums and " runs, " in line:
                    sums[name].update({what: int(count) for count, what in FIGURE.findall(line)})
    for name, figures in sums.items():
        print(f"# {name}: " + ", ".join(f"{count} {what}" for what, count in figures.items()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
