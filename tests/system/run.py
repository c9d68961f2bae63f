#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boots a real systemd in a container, installs mtuwatchd into it and runs inside.py there.

The container's root is an overlay of this machine's own, its upper side on a tmpfs: nothing is
downloaded, nothing here is changed. All mounts live in a mount namespace of their own and go with
it. BUILD_DIR names the build to install; the journal and the console are kept there. With PACKAGE, a .deb, that one is
installed inside, by the cases of cases_package.py. Speaks TAP.

usage: run.py [CASE...]     a case is named by the beginning of its function's name behind "case_"
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD_DIR", os.path.join(HERE, "..", "..", "build"))
PACKAGE = os.environ.get("PACKAGE", "")
DEADLINE = 400
NEEDED = ("unshare", "mount", "meson", "systemd-nspawn", "journalctl", "ip", "setpriv")
# Seen empty by the container: what this machine enables, logs and runs is none of its business.
EMPTIED = ("dev", "run", "tmp", "var/log/journal", "etc/systemd/system", "etc/systemd/network",
           "etc/netplan", "etc/network", "etc/NetworkManager/system-connections", "etc/init.d", "etc/mtuwatchd", *(f"etc/rc{level}.d" for level in "0123456S"))
MASKED = ("getty.target", "systemd-logind.service", "systemd-udevd.service", "systemd-hwdb-update.service",
          "systemd-timesyncd.service", "systemd-ask-password-wall.path", "systemd-homed.service",
          "systemd-update-utmp-runlevel.service", "systemd-tmpfiles-clean.timer")
TEST_UNIT = """\
[Unit]
Description=Tests of mtuwatchd
After=dbus.socket
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 -u /var/lib/mtuwatchd-test/inside.py {cases}
ExecStopPost=/bin/systemctl poweroff --no-block --force
StandardOutput=file:/var/lib/mtuwatchd-test/result.tap
StandardError=inherit
TimeoutStartSec=infinity
[Install]
WantedBy=multi-user.target
"""


DROP_IN = """\
[Service]
Environment={environment}
"""
# What a build with this option wants of the services. The sandbox forbids what finding leaks needs,
# ptrace(2); and it leaves no place to count lines in, so that only what runs outside of it is counted.
SERVICES = ("mtuwatchd", "mtuwatchd-wait@")
INSTRUMENTED = {"b_sanitize": ("ASAN_OPTIONS=detect_leaks=0", SERVICES),
                "b_coverage": ("GCOV_ERROR_FILE=/dev/null", (*SERVICES, "mtuwatchd-test"))}


def skip_all(reason):
    print(f"1..0 # SKIP {reason}", flush=True)
    sys.exit(0)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def build_instrumented():
    """The options by which it is, of INSTRUMENTED."""
    options = subprocess.run(["meson", "introspect", "--buildoptions", BUILD], check=True,
                             stdout=subprocess.PIPE)
    return [option["name"] for option in json.loads(options.stdout)
            if option["name"] in INSTRUMENTED and option["value"] not in ("none", False)]


def root_prepare(upper):
    """What differs from this machine's root, made in the overlay's upper side before it is mounted."""
    for path in EMPTIED:
        directory = os.path.join(upper, path)
        os.makedirs(directory)
        os.setxattr(directory, "trusted.overlay.opaque", b"y")
    os.chmod(os.path.join(upper, "tmp"), 0o1777)
    write(os.path.join(upper, "etc/machine-id"), os.urandom(16).hex() + "\n")
    write(os.path.join(upper, "etc/fstab"), "")
    units = os.path.join(upper, "etc/systemd/system")
    for unit in MASKED:
        os.symlink("/dev/null", os.path.join(units, unit))
    write(os.path.join(units, "mtuwatchd-test.service"),
          TEST_UNIT.format(cases=" ".join(sys.argv[2:])))
    for option in [] if PACKAGE else build_instrumented():
        environment, services = INSTRUMENTED[option]
        for unit in services:
            write(os.path.join(units, f"{unit}.service.d/{option}.conf"),
                  DROP_IN.format(environment=environment))
    wanted = os.path.join(units, "multi-user.target.wants")
    os.makedirs(wanted)
    os.symlink("../mtuwatchd-test.service", os.path.join(wanted, "mtuwatchd-test.service"))
    os.symlink("/lib/systemd/system/multi-user.target", os.path.join(units, "default.target"))
    tests = os.path.join(upper, "var/lib/mtuwatchd-test")
    os.makedirs(tests)
    for name in os.listdir(HERE):
        if name.endswith(".py") and name != "run.py":
            shutil.copy(os.path.join(HERE, name), tests)
    if PACKAGE:
        shutil.copy(PACKAGE, tests)


def root_mount(scratch):
    """Returns the container's root: an overlay with everything of ours in place."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1G,mode=0755", "mtuwatchd-test", scratch],
                   check=True)
    upper, work, root = (os.path.join(scratch, name) for name in ("upper", "work", "root"))
    for path in (upper, work, root):
        os.mkdir(path)
    root_prepare(upper)
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o",
                    f"lowerdir=/,upperdir={upper},workdir={work}", root], check=True)
    if not PACKAGE:
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], check=True,
                       env=dict(os.environ, DESTDIR=root), stdout=subprocess.DEVNULL)
    return root


def container_start(root, console):
    # where a build that counts its lines keeps the counts
    counts = [f"--bind={os.path.abspath(BUILD)}"] if "b_coverage" in build_instrumented() else []
    return subprocess.Popen(
        ["systemd-nspawn", "-q", "-D", root, "--private-network", "--register=no", "--keep-unit",
         "--settings=no", "--resolv-conf=off", "--timezone=off", "--link-journal=no",
         "--capability=all", "--console=pipe", *counts, "-b"],
        stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)


def container_follow(container, result, deadline):
    """Prints the container's TAP as it comes. Returns whether it ended by itself."""
    while not os.path.exists(result):
        if container.poll() is not None:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    with open(result, encoding="utf-8", errors="replace") as lines:
        while True:
            ended = container.poll() is not None
            for line in lines:
                print(line, end="", flush=True)
            if ended:
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)


def container_end(container):
    if container.poll() is None:
        container.kill()  # its processes go with it
    container.wait()


def show_tail(path, lines):
    with open(path, encoding="utf-8", errors="replace") as text:
        for line in text.readlines()[-lines:]:
            print("#", line.rstrip())


def inside_namespace():
    scratch = tempfile.mkdtemp(prefix="mtuwatchd-system.")
    console_path = os.path.join(BUILD, "system-console.txt")
    try:
        root = root_mount(scratch)
        result = os.path.join(root, "var/lib/mtuwatchd-test/result.tap")
        with open(console_path, "wb") as console:
            container = container_start(root, console)
            try:
                ended = container_follow(container, result, time.monotonic() + DEADLINE)
            finally:
                container_end(container)
        with open(os.path.join(BUILD, "system-journal.txt"), "wb") as journal:
            subprocess.run(["journalctl", "-q", "-D", os.path.join(root, "var/log/journal"),
                            "-o", "short-precise", "--no-pager"], stdout=journal, check=False)
        if not os.path.exists(result):
            print("Bail out! the container did not come as far as the tests", flush=True)
            show_tail(console_path, 30)
            return 1
        if not ended:
            print(f"Bail out! the container was not done after {DEADLINE} seconds", flush=True)
            return 1
        return 0
    finally:
        subprocess.run(["umount", "--recursive", "--lazy", scratch], check=False,
                       stderr=subprocess.DEVNULL)
        os.rmdir(scratch)


def main():
    if sys.argv[1:2] == ["--inside-namespace"]:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        sys.exit(inside_namespace())
    if os.geteuid() != 0:
        skip_all("root is needed to boot a container")
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if missing:
        skip_all("not installed: " + " ".join(missing))
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                          os.path.abspath(__file__), "--inside-namespace", *sys.argv[1:]])


if __name__ == "__main__":
    main()
