# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a container's root has of its own, in the upper side of an overlay of another root."""

import os
import shutil

# Seen empty by the container: what the other one enables, logs and runs is none of its business.
EMPTIED = ("dev", "run", "tmp", "var/log/journal", "etc/systemd/system", "etc/systemd/network",
           "etc/netplan", "etc/network", "etc/NetworkManager/system-connections", "etc/init.d",
           "etc/mtuwatchd", *(f"etc/rc{level}.d" for level in "0123456S"))
MASKED = ("getty.target", "systemd-logind.service", "systemd-udevd.service",
          "systemd-hwdb-update.service", "systemd-timesyncd.service",
          "systemd-ask-password-wall.path", "systemd-homed.service",
          "systemd-update-utmp-runlevel.service", "systemd-tmpfiles-clean.timer")
UNITS = "etc/systemd/system"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def prepare(upper, started):
    """Boots to these units, and to nothing that the other root has enabled."""
    for path in EMPTIED:
        directory = os.path.join(upper, path)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        os.setxattr(directory, "trusted.overlay.opaque", b"y")
    os.chmod(os.path.join(upper, "tmp"), 0o1777)
    write(os.path.join(upper, "etc/machine-id"), os.urandom(16).hex() + "\n")
    write(os.path.join(upper, "etc/fstab"), "")
    units = os.path.join(upper, UNITS)
    for unit in MASKED:
        os.symlink("/dev/null", os.path.join(units, unit))
    os.symlink("/lib/systemd/system/multi-user.target", os.path.join(units, "default.target"))
    wanted = os.path.join(units, "multi-user.target.wants")
    os.makedirs(wanted)
    for unit in started:
        os.symlink(f"../{unit}", os.path.join(wanted, unit))
