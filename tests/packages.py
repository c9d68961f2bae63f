# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that tests need and that this machine is not to have installed, since installing them would
start services or change what sets its network up.

apt-get downloads their packages, and what those depend on and is not installed here, as it would
install them. They are unpacked into a folder below KEPT, which is named by their versions and used
again; no script of theirs runs, and outside that folder nothing changes.

    folder = packages.fetch("prometheus", programs=("prometheus", "promtool"))
    subprocess.run(packages.command(folder, "promtool", "--version"))

The folder may be a layer of a container's root as well: it has the shape of /.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile

KEPT = "/var/cache/mtuwatchd-tests"
# Seconds; a mirror may be slow.
LONGEST = 300
# What apt-get's answer hangs on: what is installed, and the lists of what there is.
ANSWERED_FROM = ("/var/lib/dpkg/status", "/var/lib/apt/lists")
# What Debian has as links into usr; a package may still bring files below the old names.
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# The folder's files are seen beside the machine's own, in a mount namespace that ends with the command.
OVERLAY = ('folder=$1; shift; for top in usr etc; do [ ! -d "$folder/$top" ] || mount -t overlay '
           'overlay -o "ro,lowerdir=$folder/$top:/$top" "/$top" || exit 126; done; exec "$@"')


class Missing(Exception):
    """They are not to be had here; the text says why."""


def command(folder, *argv):
    """The words that run argv with what is in the folder."""
    if not folder:
        return list(argv)
    return ["unshare", "--mount", "sh", "-c", OVERLAY, "sh", folder, *argv]


def fetch(*names, programs):
    """A folder with these packages, "" where their programs are installed; raises Missing."""
    missing = [program for program in programs if not shutil.which(program)]
    if not missing:
        return ""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        raise Missing("not installed: " + " ".join(missing))
    os.makedirs(KEPT, exist_ok=True)
    with open(os.path.join(KEPT, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = _folder(names)
        if not os.path.isdir(folder):
            _make(folder, names)
    return folder


def _digest(*words):
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _folder(names):
    """Where the versions that apt-get would install are, or will be. It takes seconds to answer, and
    answers the same until something is installed or its lists are new."""
    kept = os.path.join(KEPT, f"{names[0]}-{_digest(*names)}.answer")
    state = " ".join(str(os.stat(path).st_mtime_ns) for path in ANSWERED_FROM)
    with contextlib.suppress(OSError, ValueError), open(kept, encoding="ascii") as file:
        asked, folder = file.read().splitlines()
        if asked == state:
            return folder
    folder = os.path.join(KEPT, f"{names[0]}-{_digest(*_apt_get_versions(names))}")
    with open(kept, "w", encoding="ascii") as file:
        file.write(f"{state}\n{folder}\n")
    return folder


def _apt_get(*words):
    done = subprocess.run(["apt-get", "-qq", "-y", "--no-install-recommends", *words],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LONGEST, check=False,
                          env=dict(os.environ, DEBIAN_FRONTEND="noninteractive", LC_ALL="C"))
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["?"]
        raise Missing(f"apt-get {' '.join(words)}: {said[-1]}")
    return done.stdout


def _apt_get_versions(names):
    """The packages, with their versions, that installing them would install."""
    words = ("install", "--simulate", *names)
    try:
        lines = _apt_get(*words)
    except Missing:  # the lists of packages may be old, or not there yet
        _apt_get("update")
        lines = _apt_get(*words)
    return sorted(line for line in lines.splitlines() if line.startswith("Inst "))


def _download(names, archives):
    words = ("install", "--download-only", "-o", f"Dir::Cache::archives={archives}", *names)
    try:
        _apt_get(*words)
    except Missing:  # a mirror forgets a version as soon as it has a newer one
        _apt_get("update")
        _apt_get(*words)


def _unpack(package, folder):
    """As dpkg does it: a link to a folder stays one."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package],
                          stdout=subprocess.PIPE) as contents:
        done = subprocess.run(["tar", "-x", "-p", "--keep-directory-symlink", "-C", folder],
                              stdin=contents.stdout, capture_output=True, text=True, check=False)
    if contents.returncode != 0 or done.returncode != 0:
        raise Missing(f"cannot unpack {package}: {done.stderr.strip()}")


def _make(folder, names):
    """The folder appears whole or not at all."""
    with contextlib.ExitStack() as stack:
        scratch = tempfile.mkdtemp(dir=KEPT)
        stack.callback(shutil.rmtree, scratch)
        archives, root = os.path.join(scratch, "archives"), os.path.join(scratch, "root")
        os.makedirs(os.path.join(archives, "partial"))
        _download(names, archives)
        os.mkdir(root)
        for name in MERGED:
            if os.path.islink(f"/{name}"):
                os.makedirs(os.path.join(root, "usr", name), exist_ok=True)
                os.symlink(f"usr/{name}", os.path.join(root, name))
        for package in glob.glob(os.path.join(archives, "*.deb")):
            _unpack(package, root)
        os.rename(root, folder)
