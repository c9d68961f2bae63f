#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""all.py [--memcheck] BUILD SUITE...: runs the suites one after the other and counts.

Every suite speaks TAP: those that meson knows by way of its log, the others on their standard
output. A crash, a hang or a missing test is a failure as well. Builds and installs nothing.
FUZZ_BUILD_DIR names another build for the fuzzers, which are made by clang alone. With --memcheck
the programs run under valgrind, and CASES names those of the lab that do, all where it is empty.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading

import memcheck

TESTS = os.path.dirname(os.path.abspath(__file__))
MESON_SUITES = ("unit", "fuzz")
# Seconds that a suite may take; together they keep the whole within twenty minutes.
DEADLINES = {"unit": 360, "fuzz": 180, "lab": 840, "system": 420, "package": 420, "fresh": 3600}

PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*SKIP\b\s*(.*))?\s*$", re.IGNORECASE)
RESULT = re.compile(r"(not )?ok\b(?:\s+\d+)?(?:[\s-]+(.*))?$")
SKIPPED = re.compile(r"#\s*SKIP\b", re.IGNORECASE)


class Tap:
    """Counts one stream of TAP."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.planned = None
        self.bailed_out = False

    def line(self, text):
        text = text.rstrip("\n")
        result = RESULT.match(text)
        plan = PLAN.match(text)
        if result and SKIPPED.search(text):
            self.skipped += 1
        elif result and result.group(1):
            self.failed += 1
        elif result:
            self.passed += 1
        elif plan:
            self.planned = int(plan.group(1))
            if self.planned == 0:
                self.skipped += 1
        elif text.startswith("Bail out!"):
            self.bailed_out = True

    def seen(self):
        return self.passed + self.failed + self.skipped

    def complaint(self):
        """What is wrong with the stream as a whole, None when nothing is."""
        if self.bailed_out:
            return "gave up"
        if self.planned is None:
            return "ended without a plan"
        if self.planned not in (0, self.seen()):
            return f"planned {self.planned} tests, ran {self.seen()}"
        return None


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, tap):
        self.passed += tap.passed
        self.failed += tap.failed
        self.skipped += tap.skipped

    def fail(self, why):
        self.failed += 1
        print(f"# FAILED: {why}", flush=True)

    def total(self):
        return self.passed + self.failed + self.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed"


def run_streamed(command, environment, deadline, on_line):
    """Runs a command, each line to on_line; returns its exit status, None if it had to be ended."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace",
                               env=environment, start_new_session=True)
    late = threading.Event()

    def end():
        late.set()
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)  # time to take down what it has set up
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    timer = threading.Timer(deadline, end)
    timer.start()
    try:
        for line in process.stdout:
            on_line(line)
        status = process.wait()
    finally:
        timer.cancel()
    return None if late.is_set() else status


def show(line):
    print(line, end="" if line.endswith("\n") else "\n", flush=True)


def meson_suite_exists(build, suite):
    listed = subprocess.run(["meson", "introspect", "--tests", build], check=True,
                            stdout=subprocess.PIPE)
    return any(name.split(":")[-1] == suite
               for test in json.loads(listed.stdout) for name in test["suite"])


def count_meson_test(test, count):
    output = test.get("stdout") or ""
    tap = Tap()
    lines = output.splitlines()
    if any(PLAN.match(line) or RESULT.match(line) for line in lines):
        for line in lines:
            tap.line(line)
        complaint = tap.complaint()
    else:  # a test that speaks by its exit status alone
        tap.passed = int(test["result"] == "OK")
        tap.skipped = int(test["result"] == "SKIP")
        complaint = None
    good = test["result"] in ("OK", "SKIP", "EXPECTEDFAIL")
    count.add(tap)
    if complaint or (not good and not tap.failed):
        count.fail(f"{test['name']}: {complaint or 'ended'} ({test['result']})")
    if tap.failed or complaint or test["result"] != "OK":
        print(f"# ---- {test['name']}: {test['result']}, exit {test.get('returncode')}")
        show(output + (test.get("stderr") or ""))


def run_meson_suite(build, suite, count, checked):
    log = os.path.join(build, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.unlink(log)
    command = ["meson", "test", "-C", build, "--no-rebuild", "--suite", suite]
    environment, deadline = dict(os.environ), DEADLINES[suite]
    if checked:
        command += ["--wrapper", " ".join(memcheck.COMMAND), "--timeout-multiplier",
                    str(memcheck.PATIENCE)]
        environment.update(memcheck.environment())
        deadline *= memcheck.PATIENCE
    status = run_streamed(command, environment, deadline, show)
    before = count.total(), count.failed
    if os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                count_meson_test(json.loads(line), count)
    if status is None:
        count.fail(f"{suite}: not done after {deadline} seconds")
    elif count.total() == before[0]:
        count.fail(f"{suite}: nothing ran")
    elif status != 0 and count.failed == before[1]:
        count.fail(f"{suite}: meson test ended with {status}")


def run_script_suite(script, build, suite, count, checked):
    programs, deadline, words = os.path.join(build, "daemon"), DEADLINES[suite], []
    environment = dict(os.environ, BUILD_DIR=build)
    if checked:
        programs = memcheck.wrap(build)
        environment.update(memcheck.environment())
        deadline *= memcheck.PATIENCE
        words = [f"-j{2 * (os.cpu_count() or 1)}", *os.environ.get("CASES", "").split()]
    environment["MTUWATCHD"] = os.path.join(programs, "mtuwatchd")
    tap = Tap()

    def on_line(line):
        tap.line(line)
        show(line)

    status = run_streamed([script, *words], environment, deadline, on_line)
    count.add(tap)
    if status is None:
        count.fail(f"{suite}: not done after {deadline} seconds")
    elif tap.complaint():
        count.fail(f"{suite}: {tap.complaint()}")
    elif tap.seen() == 0:
        count.fail(f"{suite}: nothing ran")
    elif status != 0 and not tap.failed:
        count.fail(f"{suite}: {script} ended with {status}")


def main():
    words = sys.argv[1:]
    checked = words[0] == "--memcheck"
    build, *suites = words[1:] if checked else words
    build = os.path.abspath(build)
    count = Count()
    for suite in suites:
        print(f"# {suite}", flush=True)
        if suite in MESON_SUITES:
            folder = os.environ.get("FUZZ_BUILD_DIR", build) if suite == "fuzz" else build
            if meson_suite_exists(folder, suite):
                run_meson_suite(folder, suite, count, checked)
            else:
                count.fail(f"{suite}: there is no such suite in this build")
            continue
        run_script_suite(os.path.join(TESTS, suite, "run.py"), build, suite, count, checked)
    if not count.total():
        count.fail("nothing ran")
    if count.skipped:
        print(f"{count.skipped} skipped, each with its reason above", flush=True)
    print(count, flush=True)
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
