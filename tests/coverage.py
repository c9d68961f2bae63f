#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""coverage.py BUILD: what the tests that ran with this build have not reached, and how much they have.

Counts lines and branches of the daemon's own files as gcov does, in a build without optimization: a
branch is each side of each condition and each arm of each switch, also the one for none of its values
that the compiler adds. Nothing is excluded: no file, no line, no branch. Ends with 1 where less is
reached than LEAST says. Not counted is what cannot write its counts: processes that are killed, and
services in the sandbox of the system suite.
"""

import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# room: percent of lines and of branches; "" is all of them
LEAST = {"core": (98, 98), "": (85, 85)}


def counted(build):
    with tempfile.TemporaryDirectory() as scratch:
        result = os.path.join(scratch, "coverage.json")
        subprocess.run(["gcovr", "--root", ROOT, "--object-directory", build, "--filter", "daemon/",
                        "--json", result], check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        with open(result, encoding="utf-8") as file:
            return json.load(file)["files"]


class Share:
    def __init__(self):
        self.lines = self.branches = self.lines_reached = self.branches_reached = 0

    def add(self, line):
        self.lines += 1
        self.lines_reached += line["count"] > 0
        self.branches += len(line["branches"])
        self.branches_reached += sum(branch["count"] > 0 for branch in line["branches"])

    def percents(self):
        return (100 * self.lines_reached / (self.lines or 1),
                100 * self.branches_reached / (self.branches or 1))

    def __str__(self):
        lines, branches = self.percents()
        return (f"lines {lines:5.1f} % of {self.lines}, branches {branches:5.1f} % of {self.branches}")


def missed(line, source):
    taken = sum(branch["count"] > 0 for branch in line["branches"])
    what = "not reached" if not line["count"] else f"{taken} of {len(line['branches'])} ways"
    number = line["line_number"]
    return f"{number}: {what}: {source[number - 1].strip()}"


def main():
    build = os.path.abspath(sys.argv[1])
    rooms = {"": Share()}
    with open(os.path.join(build, "coverage.txt"), "w", encoding="utf-8") as listing:
        for file in counted(build):
            name = file["file"]
            room = os.path.dirname(name).partition("/")[2] or "main"
            with open(os.path.join(ROOT, name), encoding="utf-8") as lines:
                source = lines.read().splitlines()
            for line in file["lines"]:
                if line["gcovr/noncode"]:
                    continue
                for share in rooms[""], rooms.setdefault(room, Share()):
                    share.add(line)
                if not line["count"] or any(not branch["count"] for branch in line["branches"]):
                    print(f"{name}:{missed(line, source)}", file=listing)
    good = True
    for room, share in sorted(rooms.items(), reverse=True):
        least = LEAST.get(room, (0, 0))
        enough = all(is_ >= wanted for is_, wanted in zip(share.percents(), least))
        good = good and enough
        print(f"{room or 'all':6} {share}" + ("" if enough else f"  TOO LITTLE: at least {least[0]} %"))
    print(f"what is missing: {os.path.relpath(listing.name)}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
