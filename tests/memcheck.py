# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs of a build under valgrind, each by a script of its own name. What is found ends it with
FOUND, and is told on standard error."""

import os
import shutil
import stat

FOUND = 99
# Everything is slower, some things by far: what tests wait for, they wait for that much longer.
PATIENCE = 10
# What is still reachable at the end is given back by the kernel; what nothing points to any more is lost.
COMMAND = ["valgrind", "--quiet", f"--error-exitcode={FOUND}", "--leak-check=full",
           "--errors-for-leak-kinds=definite,indirect,possible", "--show-leak-kinds=definite,indirect,possible"]
PROGRAMS = ("mtuwatchd", "mtuwatchctl")


def environment():
    return {"TEST_PATIENCE": str(PATIENCE), "CK_TIMEOUT_MULTIPLIER": str(PATIENCE)}


def wrap(build):
    """Returns a folder of scripts in place of the build's programs."""
    folder = os.path.join(build, "memcheck")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for program in PROGRAMS:
        path = os.path.join(folder, program)
        with open(path, "w", encoding="utf-8") as script:
            script.write(f"#!/bin/sh\nexec {' '.join(COMMAND)} "
                         f"'{os.path.join(build, 'daemon', program)}' \"$@\"\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return folder
