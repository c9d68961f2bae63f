#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon killed, and failed, a thousand times at the steps of a clamp; TAP.

usage: clamps.py [--runs N] [-j N]
"""

import argparse
import concurrent.futures
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ("clamp-crash", "clamp-link-crash", "clamp-link-crash", "clamp-fail")


def one(name, runs):
    done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--one", name],
                          env={**os.environ, "CLAMP_RUNS": str(runs)}, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return name, done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("-j", type=int, default=4 * (os.cpu_count() or 1), metavar="N")
    options = parser.parse_args()
    share = -(-options.runs // options.j)
    jobs = [CASES[i % len(CASES)] for i in range(options.j)]
    failed = 0
    print(f"1..{len(jobs)}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        results = pool.map(lambda name: one(name, share), jobs)
        for number, (name, status, output) in enumerate(results, 1):
            print(f"{'not ok' if status else 'ok'} {number} - {name} {share} runs")
            print("".join(f"# {line}\n" for line in output.splitlines()), end="", flush=True)
            failed += status != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
