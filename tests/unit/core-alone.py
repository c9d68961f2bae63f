#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""core-alone.py NM LIBRARY [sanitized] [covered]: the core stands alone.

Whatever an object of the core needs has to be in the core itself or in a short list of functions
that only move memory. A socket, a clock, a log, an allocation has no place there.
"""

import os
import re
import subprocess
import sys

MEMORY = {"memcpy", "memmove", "memset", "memcmp", "bcmp", "strcmp", "strncmp", "strlen", "strnlen"}
COMPILER = {"__stack_chk_fail", "__stack_chk_guard", "_GLOBAL_OFFSET_TABLE_"}
# checks of lengths that the compiler adds at higher levels
COMPILER |= {f"__{name}_chk" for name in MEMORY}
TOOLS = {
    "sanitized": re.compile(r"__(asan|ubsan|tsan|lsan|msan|sanitizer)_|__start_asan_|__stop_asan_"),
    "covered": re.compile(r"__gcov_|llvm_gcda_|llvm_gcov_|__llvm_profile_"),
}


def symbols(nm, library):
    """Each object's name with the symbols that it needs, and all that are defined."""
    listed = subprocess.run([nm, "-P", library], check=True, stdout=subprocess.PIPE, text=True)
    needs, defined, current = {}, set(), None
    for line in listed.stdout.splitlines():
        member = re.match(r".*\[(.*)\]:$", line)
        if member:
            current = needs.setdefault(os.path.basename(member.group(1)), set())
            continue
        name, kind = line.split()[:2]
        if kind in ("U", "w", "v"):
            current.add(name)
        else:
            defined.add(name)
    return needs, defined


def main():
    nm, library, *tools = sys.argv[1:]
    needs, defined = symbols(nm, library)
    allowed = MEMORY | COMPILER | defined
    patterns = [TOOLS[tool] for tool in tools]
    failed = 0
    for number, member in enumerate(sorted(needs), 1):
        strangers = sorted(name for name in needs[member]
                           if name not in allowed and not any(p.match(name) for p in patterns))
        failed += bool(strangers)
        verb = "not ok" if strangers else "ok"
        print(f"{verb} {number} - {member}" + "".join(f" needs {name}" for name in strangers))
    if "verdict_judge" not in defined:
        print("Bail out! this is not the core")
        return 1
    print(f"1..{len(needs)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
