# SPDX-License-Identifier: LGPL-2.1-or-later
"""The RPM package, built from a tarball as from "git archive" by what Debian has of rpm, which is
unpacked aside (tests/packages.py)."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
import packages  # noqa: E402

WANTED = ("rpm", "rpmlint")
PROGRAMS = ("rpmbuild", "rpm", "rpmlint")
EPOCH = "1796061600"  # any one: that of the first entry in the spec's changelog
DEFINES = {
    "packager": "mtuwatchd maintainers <maintainers@mtuwatchd.example>",
    # the tests are the other suites' matter, and so is the speed
    "optflags": "-O0 -g",
    # it is no script for Debian's sh
    "__brp_compress": "bash %{_rpmconfigdir}/brp-compress %{?_prefix}",
    "_buildhost": "localhost",
    "use_source_date_epoch_as_buildtime": "1",
    "clamp_mtime_to_source_date_epoch": "1",
}
# What the packages have by the customs of their kind.
OWN_TO_RPM = re.compile(r"/usr/share/licenses/|/usr/lib/\.build-id/")
OWN_TO_DEB = re.compile(r"/usr/share/doc/mtuwatchd/(changelog|copyright)|/usr/share/lintian/")


def run(folder, *words, **options):
    """What rpm's programs say, both ways out, and how they ended."""
    return subprocess.run(packages.command(folder, *words), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          **options)


def version():
    with open(os.path.join(HERE, "..", "..", "meson.build"), encoding="utf-8") as text:
        return re.search(r"version: '([^']+)'", text.read()).group(1)


def tarball(copy, folder):
    """Made of the copy of the source, as git archive would."""
    name = f"mtuwatchd-{version()}"
    path = os.path.join(folder, f"{name}.tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(copy, name)
    return path


def build(programs, copy, folder):
    """Returns the complaint; the package is below the folder."""
    os.makedirs(folder, exist_ok=True)
    defines = {"_topdir": folder, **DEFINES}
    words = [word for name, value in defines.items() for word in ("--define", f"{name} {value}")]
    done = run(programs, "rpmbuild", "-tb", "--nodeps", "--without", "tests", *words,
               tarball(copy, folder),
               env=dict(os.environ, LC_ALL="C.UTF-8", SOURCE_DATE_EPOCH=EPOCH))
    if done.returncode != 0:
        return "\n".join(done.stdout.splitlines()[-30:])
    shutil.rmtree(os.path.join(folder, "BUILD"), ignore_errors=True)
    return "" if package(folder) else done.stdout


def package(folder):
    found = glob.glob(os.path.join(folder, "RPMS", "*", "*.rpm"))
    return found[0] if len(found) == 1 else None


def lint(programs, path):
    """Everything that rpmlint says of package and spec; what it does not see is in rpmlint.toml."""
    done = run(programs, "rpmlint", "--config", os.path.join(HERE, "rpmlint.toml"), path,
               os.path.join(HERE, "..", "..", "mtuwatchd.spec"))
    said = [line for line in done.stdout.splitlines() if re.search(r": [EW]: ", line)]
    return "\n".join(said) if said or done.returncode == 0 else done.stdout


def files(listed, own):
    """As both kinds of package would name them, without folders and what only this kind has."""
    names = {re.sub(r"^/lib/", "/usr/lib/", name.removesuffix(".gz")) for name in listed}
    return {name for name in names if not own.match(name)}


def same_files(programs, rpm, deb):
    """The complaint about what one of the packages has and the other has not."""
    shown = run(programs, "rpm", "-qp", "--qf", r"[%{FILEMODES:perms} %{FILENAMES}\n]", rpm).stdout
    ours = files([line.split()[1] for line in shown.splitlines() if line[0] == "-"], OWN_TO_RPM)
    shown = subprocess.run(["dpkg-deb", "-c", deb], check=True, stdout=subprocess.PIPE,
                           text=True).stdout
    theirs = files([line.split()[5][1:] for line in shown.splitlines() if line[0] == "-"],
                   OWN_TO_DEB)
    return "\n".join([f"the RPM package alone: {name}" for name in sorted(ours - theirs)] +
                     [f"the Debian package alone: {name}" for name in sorted(theirs - ours)])
