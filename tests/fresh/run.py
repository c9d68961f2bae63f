#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The three commands on a fresh Debian: a minimal system, a clean clone, and nothing else. Then the
package's own test there, which runs the lab with what it has installed.

The packages come from where this machine gets its own. The new system is a folder below /var/tmp,
gone afterwards, and entered by chroot in a mount namespace of its own. FRESH_SUITES chooses what
`./run test` runs there and FRESH_CASES what the package's test does (default: all). Speaks TAP.
"""

import glob
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "system"))
import printed  # noqa: E402 - it lies with those who run these lines in a container
RELEASE = "bookworm"
CHECKOUT = "/srv/mtuwatchd"
NEEDED = ("debootstrap", "git", "unshare", "chroot", "setpriv")
WATCH_SECONDS = 420  # apt-get and the build are part of it
COUNTED = re.compile(r"(\d+) passed, (\d+) failed")


class Failure(Exception):
    pass


def expect(condition, message):
    if not condition:
        raise Failure(message)


def diagnose(text, lines=25):
    for line in text.splitlines()[-lines:]:
        print("#", line)


def apt_sources():
    """Debian's own among this machine's package sources."""
    for path in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if re.search(r"^[^#]*\bdebian\b", text, re.MULTILINE):
                yield path, text


def apt_mirror():
    for _path, text in apt_sources():
        found = re.search(r"^(?:deb |URIs:)[^#\n]*?(https?://\S+)", text, re.MULTILINE)
        if found:
            return found.group(1)
    return "http://deb.debian.org/debian"


def apt_proxy():
    done = subprocess.run(["apt-config", "shell", "PROXY", "Acquire::http::Proxy"],
                          stdout=subprocess.PIPE, text=True, check=True)
    found = re.match(r"PROXY='(.*)'", done.stdout)
    return {"http_proxy": found.group(1)} if found and found.group(1) != "DIRECT" else {}


def system_make(root):
    subprocess.run(["debootstrap", "--variant=minbase", RELEASE, root, apt_mirror()], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                   text=True, env=dict(os.environ, **apt_proxy()))
    for path, _text in apt_sources():
        shutil.copy(path, root + path)
    for path in glob.glob("/etc/apt/apt.conf.d/*"):
        with open(path, encoding="utf-8") as file:
            if re.search(r"^\s*Acquire::", file.read(), re.MULTILINE):
                shutil.copy(path, root + path)
    for path in ("/etc/resolv.conf", "/etc/hosts"):
        shutil.copy(path, root + path)
    for kind, place in (("proc", "proc"), ("tmpfs", "run"), ("tmpfs", "tmp")):
        subprocess.run(["mount", "-t", kind, kind, os.path.join(root, place)], check=True)
    for place in ("dev", "sys"):
        subprocess.run(["mount", "--rbind", "/" + place, os.path.join(root, place)], check=True)
    subprocess.run(["git", "-c", "safe.directory=*", "clone", "--quiet", SOURCE, root + CHECKOUT],
                   check=True)


def chrooted(root, *command):
    return ["chroot", root, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/root", "LANG=C.UTF-8", "TERM=linux", "DEBIAN_FRONTEND=noninteractive",
            *(["CI=true"] if os.environ.get("CI") else []), *command]


def case_not_root(root):
    """without root: a clear message and exit 77"""
    done = subprocess.run(chrooted(root, "setpriv", "--reuid=65534", "--regid=65534",
                                   "--clear-groups", CHECKOUT + "/run"), capture_output=True,
                          text=True, check=False)
    expect(done.returncode == 77, f"exit {done.returncode}: {done.stderr}")
    expect("sudo ./run" in done.stderr, done.stderr)


def readme_lines(root):
    """What README says to type for an installation, but for the service."""
    with open(f"{root}{CHECKOUT}/README.md", encoding="utf-8") as readme:
        lines = printed.of_markdown(readme.read())
    return [line for line in lines if line.startswith(("apt-get install ", "meson "))]


# A storage box behind a switch port of 1500.
HOLE = """
set -e
link() { ip link add "$1" mtu 9000 type veth peer name "$2" mtu 9000 netns "$3"; }
mount -t tmpfs none /run
ip netns add switch; ip netns add box
link eth1 left switch
ip -n switch link add right mtu 1500 type veth peer name eth0 mtu 9000 netns box
ip -n switch link add br0 type bridge
for port in left right; do ip -n switch link set $port master br0 up; done
ip -n switch link set br0 up
ip addr add 192.0.2.1/24 dev eth1; ip link set eth1 up
ip -n box addr add 192.0.2.10/24 dev eth0; ip -n box link set eth0 up
mtuwatchd --once --expect 9000 192.0.2.10
"""


def case_install(root):
    """README's installation, typed as it stands; what is installed finds a black hole"""
    lines = readme_lines(root)
    expect(len(lines) == 3, f"README's lines: {lines}")
    subprocess.run(chrooted(root, "apt-get", "-qq", "update"), stdin=subprocess.DEVNULL, check=True,
                   capture_output=True)
    for line in lines:
        done = subprocess.run(chrooted(root, "sh", "-c", f"cd {CHECKOUT} && {line}"), input="y\n",
                              capture_output=True, text=True, errors="replace", check=False)
        if done.returncode != 0:
            diagnose(done.stdout + done.stderr)
        expect(done.returncode == 0, f"{line}: exit {done.returncode}")
    for program in ("/usr/sbin/mtuwatchd", "/usr/bin/mtuwatchctl"):
        subprocess.run(chrooted(root, program, "--version"), check=True, stdout=subprocess.DEVNULL)
    subprocess.run(chrooted(root, "apt-get", "-qq", "-y", "install", "iproute2"), check=True,
                   stdin=subprocess.DEVNULL, capture_output=True)
    done = subprocess.run(["unshare", "--net", "--mount", *chrooted(root, "sh", "-c", HOLE)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    # a bridge's port may pass four bytes more than its MTU, the room for a VLAN tag
    expect(done.returncode == 2 and re.search(r" 150[04]/9000 black-hole ", done.stdout),
           f"exit {done.returncode}: {done.stdout}{done.stderr}")


def daemon_started(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip() == "mtuwatchd"


def terminal_read(keyboard):
    try:
        return os.read(keyboard, 65536).decode(errors="replace")
    except OSError:  # the other side is closed
        return ""


def case_watch(root):
    """./run installs, builds and watches in the foreground; Ctrl-C ends it cleanly"""
    keyboard, terminal = pty.openpty()
    process = subprocess.Popen(chrooted(root, CHECKOUT + "/run"), stdin=terminal, stdout=terminal,
                               stderr=terminal, start_new_session=True)
    os.close(terminal)
    output = shown = ""
    deadline = time.monotonic() + WATCH_SECONDS
    try:
        while not (shown and daemon_started(process.pid)):
            expect(process.poll() is None, f"ended by itself, exit {process.returncode}")
            expect(time.monotonic() < deadline, "never showed anything")
            if select.select([keyboard], [], [], 0.2)[0]:
                output += terminal_read(keyboard)
            shown = re.sub(r"^(installing|building) .*$", "", output, flags=re.MULTILINE).strip()
        print(f"# {shown[:400]!r}")
        process.send_signal(signal.SIGINT)
        expect(process.wait(10) == 0, f"Ctrl-C: exit {process.returncode}")
    except Failure:
        diagnose(output)
        raise
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(keyboard)


def case_demo(root):
    """./run demo finds, explains and heals a black hole"""
    done = subprocess.run(chrooted(root, CHECKOUT + "/run", "demo"), stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", timeout=900, check=False)
    expect(done.returncode == 0, f"exit {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    expect("<== narrow" in done.stdout and "The copy is through" in done.stdout, done.stdout)


def shown(root, seconds, *command):
    """Runs a command, each line shown; returns its exit status and the last line."""
    process = subprocess.Popen(chrooted(root, *command), text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    timer = threading.Timer(seconds, process.terminate)
    timer.start()
    last = ""
    try:
        for line in process.stdout:
            last = line.strip() or last
            print("# |", line.rstrip(), flush=True)  # not counted as this suite's own
        return process.wait(), last
    finally:
        timer.cancel()
        process.terminate()


def case_test(root):
    """./run test installs what the tests need, runs them and counts"""
    suites = os.environ.get("FRESH_SUITES", "").split()
    status, last = shown(root, 1200, CHECKOUT + "/run", "test", *suites)
    counted = COUNTED.match(last)
    expect(counted, f"the last line is {last!r}")
    expect(status == 0 and counted.group(2) == "0", f"exit {status}: {last}")


def case_package(root):
    """autopkgtest builds the package with what it says it needs, installs it and runs the lab with it"""
    status, last = shown(root, 1500, "sh", "-c", "apt-get -qq -y --no-install-recommends install "
                         f"autopkgtest git && git clone -q {CHECKOUT} /srv/package && "
                         "exec autopkgtest --env=DEB_BUILD_OPTIONS=nocheck "
                         f"--env=LAB_CASES={os.environ.get('FRESH_CASES', '')!r} /srv/package "
                         "-- null")
    expect(status == 0, f"exit {status}: {last}")


CASES = (case_not_root, case_install, case_demo, case_watch, case_test, case_package)


def inside_namespace():
    scratch = tempfile.mkdtemp(prefix="mtuwatchd-fresh.", dir="/var/tmp")
    root = os.path.join(scratch, "root")
    failed = 0
    os.mkdir(root)
    try:
        # A mount of its own, so that one umount takes down what is in it; and so is the root, since
        # what makes mount namespaces in there wants / to be one.
        for path in (scratch, root):
            subprocess.run(["mount", "--bind", path, path], check=True)
        system_make(root)
        print(f"1..{len(CASES)}", flush=True)
        for number, case in enumerate(CASES, 1):
            try:
                case(root)
            except (Failure, OSError, subprocess.SubprocessError) as failure:
                failed += 1
                print(f"not ok {number} - {case.__doc__}\n# {failure}", flush=True)
            else:
                print(f"ok {number} - {case.__doc__}", flush=True)
    except subprocess.CalledProcessError as failure:
        diagnose(failure.stdout or "")
        print(f"Bail out! {failure}", flush=True)
        failed += 1
    finally:
        if subprocess.run(["umount", "--recursive", "--lazy", scratch], check=False).returncode == 0:
            shutil.rmtree(scratch)
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--inside-namespace"]:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        sys.exit(inside_namespace())
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    if os.geteuid() != 0 or missing:
        print("1..0 # SKIP needs root and " + (" ".join(missing) or "nothing else"), flush=True)
        return
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable,
                          os.path.abspath(__file__), "--inside-namespace"])


if __name__ == "__main__":
    main()
