#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boots a real systemd in a container, installs mtuwatchd into it and runs inside.py there.

The container's root is an overlay of this machine's own, its upper side on a tmpfs: nothing here is
changed. What this machine shall not have installed is added there (tests/packages.py). All mounts live
in a mount namespace of their own and go with it. BUILD_DIR names the build to install; the journal and
the console are kept there. With PACKAGES (a .deb, and an .rpm behind a colon) these are installed
inside instead, by the cases of cases_package.py. Speaks TAP.

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
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True
import packages  # noqa: E402
from root import EMPTIED, UNITS, prepare, write  # noqa: E402

BUILD = os.environ.get("BUILD_DIR", os.path.join(HERE, "..", "..", "build"))
PACKAGES = os.environ.get("PACKAGES", "").split(":") if "PACKAGES" in os.environ else []
DEADLINE = 500
NEEDED = ("unshare", "mount", "meson", "systemd-nspawn", "journalctl", "ip", "setpriv")
# Packages, and the programs that show whether they are here already.
WANTED = ((("openssh-server", "netplan.io", "network-manager", "ifupdown"),
           ("sshd", "netplan", "NetworkManager", "nmcli", "ifup")),
          (("systemd-journal-remote", "bsd-mailx", "nagios4-core", "nagios-nrpe-server",
            "nagios-nrpe-plugin", "monitoring-plugins-basic", "icinga2-bin"),
           ("/lib/systemd/systemd-journal-remote", "mail", "nagios4", "nrpe", "icinga2",
            "/usr/lib/nagios/plugins/check_nrpe", "/usr/lib/nagios/plugins/check_dummy")))
# Where packages are tested instead.
WANTED_BY_PACKAGES = ((("rpm", "rpmlint"), ("rpm",)),)
TEST_UNIT = """\
[Unit]
Description=Tests of mtuwatchd
After=dbus.socket
[Service]
Type=oneshot
{environment}
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


def build_instrumented():
    """The options by which it is, of INSTRUMENTED."""
    options = subprocess.run(["meson", "introspect", "--buildoptions", BUILD], check=True,
                             stdout=subprocess.PIPE)
    return [option["name"] for option in json.loads(options.stdout)
            if option["name"] in INSTRUMENTED and option["value"] not in ("none", False)]


def root_add(upper, names, programs):
    """What cases want and this machine is not to have installed. They skip where it cannot be had."""
    try:
        folder = packages.fetch(*names, programs=programs)
    except packages.Missing as reason:
        print("#", reason, flush=True)
        return
    if folder:
        subprocess.run(["cp", "-a", f"{folder}/.", upper], check=True)


def environment():
    """Where the build is, and what the long forms of cases are told."""
    told = {"BUILD_DIR": os.path.abspath(BUILD)}
    told.update((key, os.environ[key]) for key in ("FLOOD_SECONDS", "FLOOD_PEERS") if key in os.environ)
    return "\n".join(f"Environment={key}={value}" for key, value in told.items())


def root_prepare(upper):
    """What differs from this machine's root, made in the overlay's upper side before it is mounted."""
    for names, programs in WANTED_BY_PACKAGES if PACKAGES else WANTED:
        root_add(upper, names, programs)
    prepare(upper, ["mtuwatchd-test.service"])
    units = os.path.join(upper, UNITS)
    write(os.path.join(units, "mtuwatchd-test.service"),
          TEST_UNIT.format(environment=environment(), cases=" ".join(sys.argv[2:])))
    for option in [] if PACKAGES else build_instrumented():
        variables, services = INSTRUMENTED[option]
        for unit in services:
            write(os.path.join(units, f"{unit}.service.d/{option}.conf"),
                  DROP_IN.format(environment=variables))
    tests = os.path.join(upper, "var/lib/mtuwatchd-test")
    os.makedirs(tests)
    for name in os.listdir(HERE):
        if name.endswith(".py") and name != "run.py":
            shutil.copy(os.path.join(HERE, name), tests)
    shutil.copy(os.path.join(HERE, "..", "recipes.py"), tests)
    for path in PACKAGES or [os.path.join(BUILD, "tests/system/flooder")]:
        shutil.copy(path, tests)
    for name in ("README.md", "run"):
        shutil.copy(os.path.join(HERE, "..", "..", name), tests)


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
    subprocess.run(["ldconfig", "-r", root], check=True, stderr=subprocess.DEVNULL)  # added libraries
    if not PACKAGES:
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"], check=True,
                       env=dict(os.environ, DESTDIR=root), stdout=subprocess.DEVNULL)
    return root


def sources_shown():
    """Source and build, where the container would not see them."""
    paths = {os.path.abspath(os.path.join(HERE, "..", "..")), os.path.abspath(BUILD)}
    return [f"--bind={path}" for path in sorted(paths) if path.split("/")[1] in EMPTIED]


def container_start(root, console):
    # where a build that counts its lines keeps the counts
    counts = [f"--bind={os.path.abspath(BUILD)}"] if "b_coverage" in build_instrumented() else []
    return subprocess.Popen(
        ["systemd-nspawn", "-q", "-D", root, "--private-network", "--register=no", "--keep-unit",
         "--settings=no", "--resolv-conf=off", "--timezone=off", "--link-journal=no",
         "--capability=all", "--console=pipe", *sources_shown(), *counts, "-b"],
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
