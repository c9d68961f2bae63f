#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""analyse.py GCC_BUILD CLANG_BUILD: what can be said of the sources without running them.

Both builds are made anew, gcc's with -fanalyzer, every warning a finding; then clang-tidy with the
checks of .clang-tidy, cppcheck, shellcheck and pyflakes. Ends with 1 where there is a finding.
"""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WARNING = re.compile(r"^[^ ]+?:\d+:(?:\d+:)? (?:warning|error|fatal error|performance|portability|style): ")
# A loop of json-c's that is a macro; its header is not read. Behind -D a semicolon ends a definition.
JSON_LOOP = ("#define json_object_object_foreach(object,key,value) "
             "for (char *key = json_key(object); json_more(object); json_next(object)) "
             "for (struct json_object *value = json_value(object); value; value = 0)\n")
CPPCHECK = ["cppcheck", "--enable=warning,performance,portability", "--inline-suppr", "--quiet",
            "--std=c11", "-D_GNU_SOURCE", "-DVERSION=\"\"",
            "--template={file}:{line}: {severity}: {message} [{id}]"]


def output_of(command):
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    return done.stdout, done.returncode


def tracked(*patterns):
    return output_of(["git", "ls-files", *patterns])[0].split()


def findings_in(output):
    """The lines that begin one, each once: a header is read many times."""
    return list(dict.fromkeys(line for line in output.splitlines() if WARNING.match(line)))


def build(folder):
    output_of(["ninja", "-C", folder, "-t", "clean"])  # what is not compiled says nothing
    output, status = output_of(["ninja", "-C", folder, "-k", "0"])
    found = findings_in(output)
    if status and not found:
        found = [f"{folder}: ninja ended with {status}"]
    return found, output


def clang_tidy(folder):
    with open(os.path.join(folder, "compile_commands.json"), encoding="utf-8") as file:
        sources = sorted({os.path.relpath(os.path.join(one["directory"], one["file"]), ROOT)
                          for one in json.load(file)})
    sources = [source for source in sources if source.startswith("daemon/")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = pool.map(lambda source: output_of(
            ["clang-tidy", "--quiet", "-p", folder, source])[0], sources)
        output = "".join(outputs)
    return findings_in(output), output


def cppcheck():
    with tempfile.NamedTemporaryFile("w", suffix=".h") as header:
        header.write(JSON_LOOP)
        header.flush()
        output, _ = output_of([*CPPCHECK, f"-j{os.cpu_count()}", f"--include={header.name}", "daemon"])
    return findings_in(output), output


def scripts():
    found = []
    for path in tracked():
        with open(os.path.join(ROOT, path), "rb") as file:
            if re.match(rb"#! ?/bin/(ba)?sh\b", file.readline()):
                found.append(path)
    return found


def shellcheck():
    output, _ = output_of(["shellcheck", "--format=gcc", *scripts()])
    return output.splitlines(), output


def pyflakes():
    output, _ = output_of(["pyflakes3", *tracked("*.py")])
    return output.splitlines(), output


def main():
    gcc, clang = (os.path.abspath(folder) for folder in sys.argv[1:3])
    total = 0
    steps = (("gcc -fanalyzer", "ninja", lambda: build(gcc)), ("clang", "ninja", lambda: build(clang)),
             ("clang-tidy", "clang-tidy", lambda: clang_tidy(clang)), ("cppcheck", "cppcheck", cppcheck),
             ("shellcheck", "shellcheck", shellcheck), ("pyflakes", "pyflakes3", pyflakes))
    for name, tool, step in steps:
        if not shutil.which(tool):
            found, output = [f"{tool} is not installed"], ""
        else:
            found, output = step()
        total += len(found)
        print(f"{name}: {len(found)}", flush=True)
        if found:
            print(output or "\n".join(found), flush=True)
    print(f"{total} findings", flush=True)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
