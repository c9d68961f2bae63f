#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An hour of forgery without the minutes between its bursts: millions of packets; TAP.

usage: forge.py [--reports N] [--answers N] [--bursts N]
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ("forge", "forge cache", "forge responder ipv4", "forge responder ipv6")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=int, default=10**6)
    parser.add_argument("--answers", type=int, default=10**7)
    parser.add_argument("--bursts", type=int, default=60)
    options = parser.parse_args()
    environment = {**os.environ, "FORGE_REPORTS": str(options.reports),
                   "FORGE_ANSWERS": str(options.answers), "FORGE_BURSTS": str(options.bursts)}
    failed = 0
    print(f"1..{len(CASES)}", flush=True)
    for number, name in enumerate(CASES, 1):
        done = subprocess.run([sys.executable, os.path.join(HERE, "run.py"), "--one", name],
                              env=environment, text=True, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        print(f"{'not ok' if done.returncode else 'ok'} {number} - {name}")
        print("".join(f"# {line}\n" for line in done.stdout.splitlines()), end="", flush=True)
        failed += done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
