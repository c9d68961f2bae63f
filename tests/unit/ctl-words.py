#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ctl-words.py MTUWATCHCTL: what is typed, right and wrong, where there is no bus to ask. Speaks TAP."""

import os
import subprocess
import sys

USAGE = 64
UNABLE = 3
NO_BUS = {"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus"}

# words, exit status, what is said
CASES = [
    (["--help"], 0, "what an MTU is worth here"),
    (["-h"], 0, "--nagios"),
    (["--version"], 0, "mtuwatchctl "),
    (["--nonsense"], USAGE, "--help"),
    (["lst"], USAGE, 'there is no verb "lst" (did you mean "list"?); there are list, '),
    (["nothing-like-it"], USAGE, 'there is no verb "nothing-like-it"; there are '),
    (["list", "san"], USAGE, 'list: "san" is one word too many'),
    (["explain"], USAGE, "explain: expected PEER"),
    (["status", ""], USAGE, "status: a name is empty"),
    (["--json=xml"], USAGE, "--json=xml: expected off, short or pretty"),
    (["--nagios", "list"], USAGE, "--nagios: with check only"),
    (["--expect=9000", "list"], USAGE, "with probe only"),
    (["--port=1", "list"], USAGE, "--port: with probe and measure only"),
    (["--sizes=1500", "list"], USAGE, "with measure only"),
    (["--timeout=5s", "list"], USAGE, "--timeout: with wait only"),
    (["wait", "--timeout=soon", "san"], USAGE, "--timeout=soon: expected a time"),
    (["wait", "--timeout=366d", "san"], USAGE, "expected a time"),
    (["measure", "--sizes=", "san"], USAGE, "--sizes=: expected sizes"),
    (["measure", "--sizes=1500,x", "san"], USAGE, "expected up to"),
    (["measure", "--sizes=67", "san"], USAGE, "expected up to"),
    (["measure", "--sizes=65536", "san"], USAGE, "expected up to"),
    (["measure", "--sizes=12345678901", "san"], USAGE, "expected up to"),
    (["measure", "--sizes=1500,9000,1500", "san"], USAGE, "1500 is there twice"),
    (["measure", "--sizes=" + ",".join(str(1000 + i) for i in range(64)), "san"], USAGE, "expected up to"),
    (["measure", "--time=1500ms", "san"], USAGE, "expected whole seconds"),
    (["measure", "--time=0", "san"], USAGE, "expected whole seconds"),
    (["measure", "--time=61min", "san"], USAGE, "expected whole seconds"),
    (["measure", "--time=x", "san"], USAGE, "expected whole seconds"),
    (["measure", "--runs=0", "san"], USAGE, "--runs=0: expected a number from 1 to 20"),
    (["measure", "--runs=21", "san"], USAGE, "expected a number from 1 to 20"),
    (["measure", "--runs=x", "san"], USAGE, "expected a number from 1 to 20"),
    (["measure", "--port=0", "san"], USAGE, "--port: expected a number from 1 to 65535"),
    (["measure", "--port=65536", "san"], USAGE, "--port: expected a number from 1 to 65535"),
    (["measure", "--port=http", "san"], USAGE, "--port: expected a number from 1 to 65535"),
    (["probe", *["--interface=eth0"] * 5000, "192.0.2.1"], USAGE, "--interface: too many options"),
    # what is right is asked, and there is nobody
    (["--json=off", "--no-legend", "--no-pager", "--no-ask-password", "list"], UNABLE, "bus"),
    ([], UNABLE, "bus"),
    (["--json=short", "status"], UNABLE, "bus"),
    (["--json=pretty", "links"], UNABLE, "bus"),
    (["check", "--nagios"], UNABLE, "MTU UNKNOWN - "),
    (["wait", "--timeout=1s", "san"], UNABLE, "bus"),
    (["monitor"], UNABLE, "bus"),
    (["release"], UNABLE, "bus"),
    (["reload"], UNABLE, "bus"),
    (["explain", "san"], UNABLE, "bus"),
    (["probe", "--interface=eth0", "--expect=9000", "--method=tcp", "--port=22", "--flows=2", "192.0.2.1"],
     UNABLE, "bus"),
    (["measure", "--sizes=9000,1500", "--time=1s", "--runs=1", "--port=5201", "san"], UNABLE, "bus"),
]


def main():
    print(f"1..{len(CASES)}")
    failed = 0
    for number, (words, status, said) in enumerate(CASES, 1):
        done = subprocess.run([sys.argv[1], *words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=60, check=False, env={**os.environ, **NO_BUS})
        good = done.returncode == status and said in done.stdout + done.stderr
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {' '.join(words)[:60]}")
        if not good:
            print(f"# exit {done.returncode}, not {status}: {(done.stdout + done.stderr)!r}, not {said!r}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
