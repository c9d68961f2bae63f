#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the lab's cases and prints TAP. Each case has a process and namespaces of its own.

usage: run.py [-jN] [-l] [CASE…]     a case is named by the beginning of its name: M01, "M01 ipv4"
"""

import argparse
import concurrent.futures
import importlib
import itertools
import os
import signal
import subprocess
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import cases  # noqa: E402
import daemon  # noqa: E402
import lab  # noqa: E402

# the long ones first, so that none is left over at the end
FIRST = ("soak", "case_flows", "case_doubts", "case_methods", "case_ways", "case_cables", "case_daemon",
         "case_clamp_crash", "case_connections", "case_host")
MODULES = FIRST + tuple(sorted(name[:-3] for name in os.listdir(HERE) if name.startswith("case_") and
                              name.endswith(".py") and name[:-3] not in FIRST))
LONGEST = 240 * daemon.PATIENCE  # seconds for one case
# They measure what this machine's processor can do: after all others, and one at a time.
ALONE = ("measure-gain", "measure-offloads")
SKIPPED = 77


def healthy_end(one_daemon):
    """SIGTERM ends it with 0, and no sanitizer had anything to say."""
    status = one_daemon.stop()
    assert status in (None, 0), f"the daemon ended with {status}"
    said = [line for line in one_daemon.lines if "Sanitizer" in line or "runtime error:" in line]
    assert not said, said


def one(case):
    """In a process of its own: builds, runs, explains a failure, cleans up."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also as a background job
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with lab.Lab(case.name) as network:
            network.daemons = []
            try:
                case.function(network, *case.arguments)
                for one_daemon in network.daemons:
                    healthy_end(one_daemon)
            except (Exception, KeyboardInterrupt):
                for one_daemon in network.daemons:
                    for line in one_daemon.diagnosis():
                        print(line)
                raise
        return 0
    except lab.Skip as reason:
        print(f"SKIP {reason}")
        return SKIPPED
    except AssertionError as error:
        where = traceback.extract_tb(error.__traceback__)
        place = [f for f in where if os.path.basename(f.filename).startswith("case_")][-1:]
        for frame in place:
            print(f"{os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}")
        print(f"FAILED {error}")
        return 1
    except KeyboardInterrupt:
        return 1
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc(file=sys.stdout)
        return 1


def child(name):
    """The status of a case, what it said, and how long it took."""
    began = time.monotonic()
    status, output = child_run(name)
    return status, output, time.monotonic() - began


def child_run(name):
    process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--one", name],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        output, _ = process.communicate(timeout=LONGEST)
    except subprocess.TimeoutExpired:
        process.terminate()
        try:
            output, _ = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        output += f"FAILED not over after {LONGEST} s\n"
    left = lab.sweep(f"mw{process.pid}")  # whatever became of the child, nothing of it stays
    if left and process.returncode == 0:
        return 1, output + f"FAILED left behind: {' '.join(left)}\n"
    return process.returncode, output


def tell(number, name, result):
    status, output, seconds = result
    lines = output.splitlines()
    if status == SKIPPED:
        reason = next((x[5:] for x in lines if x.startswith("SKIP ")), "")
        print(f"ok {number} - {name} # SKIP {reason}")
    else:
        print(f"{'ok' if status == 0 else 'not ok'} {number} - {name}")
        print(f"# {seconds:.1f} s")
        for line in lines:
            print(f"# {line}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", type=int, default=8 * (os.cpu_count() or 1), metavar="N",
                        help="cases at the same time; they wait most of it")
    parser.add_argument("-l", action="store_true", help="only list the cases")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("case", nargs="*")
    options = parser.parse_args()

    for module in MODULES:
        importlib.import_module(module)
    if options.one:
        return one(next(c for c in cases.ALL if c.name == options.one))
    chosen = [c for c in cases.ALL
              if not options.case or any(c.name.startswith(x) for x in options.case)]
    if options.l:
        print("\n".join(f"{c.name} {c.title}" for c in chosen))
        return 0
    if not chosen:
        print("1..0 # SKIP no such case")
        return 1
    if not os.access(daemon.BINARY, os.X_OK):
        print(f"Bail out! no daemon at {daemon.BINARY}")
        return 1

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    signal.signal(signal.SIGTERM, interrupt)
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        try:
            together = [c for c in chosen if c.name not in ALONE]
            alone = [c for c in chosen if c.name in ALONE]
            runs = itertools.chain(pool.map(lambda c: child(c.name), together),
                                   (child(c.name) for c in alone))
            for number, (case, result) in enumerate(zip(together + alone, runs), 1):
                tell(number, f"{case.name} {case.title}", result)
                failed += result[0] not in (0, SKIPPED)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)  # the running cases got the Ctrl-C too
            print("Bail out! interrupted")
            return 130
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
