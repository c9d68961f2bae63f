#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Builds the Debian package twice and the RPM package once, and has them installed, upgraded and removed
on a real systemd in a container (tests/system). Speaks TAP. Nothing is installed here.
"""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import rpm_package  # noqa: E402
from rpm_package import packages as fetched  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..")
SYSTEM = os.path.join(HERE, "..", "system", "run.py")
NEEDED = ("dpkg-buildpackage", "dh", "lintian", "git")
IN_CONTAINER = 8  # cases of tests/system/cases_package.py


class Tap:
    def __init__(self, planned):
        self.count = 0
        self.failed = False
        print(f"1..{planned}", flush=True)

    def say(self, complaint, name):
        self.count += 1
        self.failed |= bool(complaint)
        print(f"{'not ok' if complaint else 'ok'} {self.count} - {name}", flush=True)
        for line in (complaint or "").splitlines():
            print("#", line, flush=True)

    def skip(self, reason, name):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}", flush=True)


def source_copy(folder):
    """What is or would be in the repository, without what a build left."""
    names = subprocess.run(["git", "-C", SOURCE, "ls-files", "-z", "-co", "--exclude-standard"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, names.split("\0")):
        source, target = os.path.join(SOURCE, name), os.path.join(folder, name)
        if not os.path.exists(source):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(source, target)


def package_build(folder):
    """Returns the complaint; the packages are beside the copy."""
    source_copy(os.path.join(folder, "mtuwatchd"))
    done = subprocess.run(["dpkg-buildpackage", "-us", "-uc", "-b", "--no-check-builddeps"],
                          cwd=os.path.join(folder, "mtuwatchd"), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env=dict(os.environ, DEB_BUILD_OPTIONS="nocheck", LC_ALL="C.UTF-8"))
    return "" if done.returncode == 0 else "\n".join(done.stdout.splitlines()[-30:])


def packages(folder):
    return sorted(glob.glob(os.path.join(folder, "*.deb")))


def digests(folder):
    found = {}
    for path in packages(folder):
        with open(path, "rb") as file:
            found[os.path.basename(path)] = hashlib.sha256(file.read()).hexdigest()
    return found


def difference(first, second):
    if not first:
        return "there is no package"
    return "" if first == second else f"{first}\n{second}"


def lintian(folder):
    changes = glob.glob(os.path.join(folder, "*.changes"))
    done = subprocess.run(["lintian", "-EviI", "--pedantic", "--allow-root", *changes],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    tags = [line for line in done.stdout.splitlines() if line[:2] in ("E:", "W:", "I:", "P:", "X:")]
    return "\n".join(tags) if tags or done.returncode == 0 else done.stdout


def main_package(folder):
    return next(path for path in packages(folder) if "dbgsym" not in path)


def rpm_build(tap, folder, deb):
    """Returns the RPM package, None where there is none."""
    names = ("the RPM package builds", "it has the files of the Debian package",
             "rpmlint has nothing to say")
    try:
        programs = fetched.fetch(*rpm_package.WANTED, programs=rpm_package.PROGRAMS)
    except fetched.Missing as reason:
        for name in names:
            tap.skip(reason, name)
        return None
    copy = os.path.join(folder, "source")
    source_copy(copy)
    complaint = rpm_package.build(programs, copy, folder)
    tap.say(complaint, names[0])
    path = rpm_package.package(folder)
    tap.say(rpm_package.same_files(programs, path, deb) if path else "there is none", names[1])
    tap.say(rpm_package.lint(programs, path) if path else "there is none", names[2])
    return path


def container(tap, *paths):
    """The cases inside, under our own numbers."""
    process = subprocess.Popen([sys.executable, SYSTEM], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, errors="replace",
                               env=dict(os.environ, PACKAGES=":".join(paths)))
    seen = 0
    for line in process.stdout:
        if line.startswith(("ok ", "not ok ")):
            seen += 1
            name, _, reason = line.split(" - ", 1)[-1].rstrip().partition(" # SKIP ")
            if reason:
                tap.skip(reason, name)
            else:
                tap.say("" if line.startswith("ok") else "see below", name)
        elif not line.startswith("1.."):
            print(line, end="", flush=True)
    process.wait()
    for number in range(seen, IN_CONTAINER):
        tap.say("the container did not come as far", f"case {number + 1} in the container")


def main():
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing or os.geteuid() != 0:
        print(f"1..0 # SKIP needs {' '.join(missing) or 'root'}", flush=True)
        return 0
    os.environ.pop("CC", None)  # packages are built by the distribution's own compiler
    tap = Tap(6 + IN_CONTAINER)
    with tempfile.TemporaryDirectory(prefix="mtuwatchd-package.") as scratch:
        folders = [os.path.join(scratch, name) for name in ("one", "another-one", "rpm")]
        complaint = package_build(folders[0])
        tap.say(complaint, "the package builds")
        if complaint:
            print("Bail out! without a package there is nothing to test", flush=True)
            return 1
        complaint = package_build(folders[1])
        tap.say(complaint or difference(digests(folders[0]), digests(folders[1])),
                "two builds differ in no byte")
        tap.say(lintian(folders[0]), "lintian has nothing to say, pedantic ones included")
        deb = main_package(folders[0])
        rpm = rpm_build(tap, folders[2], deb)
        container(tap, deb, *([rpm] if rpm else []))
    return int(tap.failed)


if __name__ == "__main__":
    sys.exit(main())
