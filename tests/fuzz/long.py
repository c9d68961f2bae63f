#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Every fuzzer for a long time, as many at once as there are processors.

usage: long.py [--minutes N] [--found FOLDER] BUILD [NAME...]

Each goes on from its corpus. What it finds is kept in FOLDER, a corpus for each and the inputs that
failed beside it; without one the corpus is thrown away and the inputs stay in the current folder.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

COVERED = re.compile(r"cov: (\d+) ft: (\d+) corp: (\d+)")
EXECUTED = re.compile(r"stat::number_of_executed_units: *(\d+)")
FAILED = re.compile(r"Test unit written to (\S+)")


def fuzzers(build):
    """Name, program, corpus and longest input of each, as the tests run it."""
    tests = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True,
                                      stdout=subprocess.PIPE).stdout)
    for test in tests:
        if test["name"].startswith("fuzz-") and len(test["cmd"]) > 5:
            program, corpus, _, longest = test["cmd"][-4:]
            yield test["name"][len("fuzz-"):], os.path.join(build, program), corpus, longest


def run(fuzzer, minutes, found):
    name, program, corpus, longest = fuzzer
    folder = os.path.join(found, "corpus-" + name)
    os.makedirs(folder, exist_ok=True)
    begun = time.monotonic()
    child = subprocess.run(
        [program, f"-max_total_time={minutes * 60:.0f}", f"-max_len={longest}", "-timeout=30",
         "-print_final_stats=1", f"-artifact_prefix={found}/{name}-", folder, corpus],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = child.stdout.decode(errors="replace")
    executed, covered = EXECUTED.findall(said), COVERED.findall(said)
    print(f"{name:12} {int(executed[-1]) if executed else 0:12,} executions in "
          f"{(time.monotonic() - begun) / 60:5.1f} min, "
          f"{covered[-1][0] if covered else '?':>5} edges, "
          f"{covered[-1][2] if covered else '?':>5} inputs kept, "
          f"{'nothing found' if child.returncode == 0 else 'FAILED'}", flush=True)
    if child.returncode != 0:
        print("\n".join(said.splitlines()[-40:]), flush=True)
        for path in FAILED.findall(said):
            print(f"# the input that did it: {path}", flush=True)
    return child.returncode == 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--found")
    parser.add_argument("--at-once", type=int, default=os.cpu_count())
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    chosen = [f for f in fuzzers(options.build) if not options.names or f[0] in options.names]
    if not chosen:
        print("skipped: needs clang's libFuzzer")
        return 77
    with tempfile.TemporaryDirectory() as thrown_away:
        found = options.found or thrown_away
        with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
            whole = list(pool.map(lambda fuzzer: run(fuzzer, options.minutes, found), chosen))
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main())
