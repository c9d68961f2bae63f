# SPDX-License-Identifier: LGPL-2.1-or-later
"""The packages over their lives: installed, upgraded, removed while a path is clamped, purged."""

import glob
import os
import pwd
import subprocess

from world import (BASE_CONFIG, CONFIG, LINK_MTU, UNIT, Skip, bus_name_owned, drop_in_clear,
                   drop_in_set, expect, expect_equal, peer_names, run, service_fresh,
                   switch_port_set, unit_pid, unit_property, wait_for)

PACKAGES = glob.glob("/var/lib/mtuwatchd-test/*.deb")
RPM_PACKAGES = glob.glob("/var/lib/mtuwatchd-test/*.rpm")
PACKAGE = "mtuwatchd"
EDITED = BASE_CONFIG + "# edited here\n"


def clamp_shown():
    return "proto mtuwatchd" in run("ip", "route", "show", "192.0.2.10")


def expect_running(user):
    wait_for("the name on the bus", bus_name_owned)
    expect_equal("ActiveState", unit_property("ActiveState"), "active")
    owner = os.stat(f"/proc/{unit_pid()}").st_uid
    expect_equal("its user", pwd.getpwuid(owner).pw_name, user)
    run("mtuwatchctl", "list")
    run("man", "-w", "mtuwatchd", "mtuwatchctl", "mtuwatchd.conf", "org.mtuwatch1")


def expect_upgrade(*command):
    """The upgrade keeps an edited configuration, and another process runs by it."""
    service_fresh(EDITED)
    before = unit_pid()
    run(*command)
    wait_for("another process", lambda: unit_pid() not in (0, before))
    wait_for("the edited configuration's peer", lambda: bus_name_owned() and "san" in peer_names())
    with open(CONFIG, encoding="utf-8") as file:
        expect_equal("the configuration", file.read(), EDITED)


def expect_removal(files, kept, *command):
    """Removed while a path is clamped: of these files only some are kept, and the clamp is off."""
    with open("/usr/share/doc/mtuwatchd/clamp.conf", encoding="utf-8") as file:
        drop_in_set(file.read())
    try:
        service_fresh(BASE_CONFIG + "Clamp=route\n")
        switch_port_set(1500)
        wait_for("the clamp", clamp_shown, 40)
        run(*command)
        expect(not clamp_shown(), "the clamp is still there")
        expect_equal("what is left", [name for name in files if os.path.lexists(name)], kept)
        expect(not os.path.exists("/run/mtuwatchd"), "/run/mtuwatchd is left")
        expect(unit_property("ActiveState") != "active", "it still runs")
    finally:
        switch_port_set(LINK_MTU)
        drop_in_clear()


def files_only(listed):
    return [name for name in listed.splitlines() if not os.path.isdir(name)]


def case_installed():
    """a fresh install runs at once, as a user of its own, and is enabled"""
    # this machine may have been told to start nothing
    if os.path.lexists("/usr/sbin/policy-rc.d"):
        os.unlink("/usr/sbin/policy-rc.d")
    run("dpkg", "-i", *PACKAGES)
    expect_equal("is-enabled", run("systemctl", "is-enabled", UNIT).strip(), "enabled")
    expect_running("_mtuwatchd")


def case_upgraded():
    """an upgrade keeps an edited configuration and runs again"""
    expect_upgrade("dpkg", "-i", *PACKAGES)


def case_removed():
    """removed while a path is clamped: no clamp, no process, only the configuration stays"""
    kept = run("dpkg-query", "-f", "${Conffiles}", "-W", PACKAGE).split()[0::2]
    expect(CONFIG in kept, f"{CONFIG} is no configuration file")
    expect_removal(files_only(run("dpkg", "-L", PACKAGE)), kept, "dpkg", "-r", PACKAGE)


def case_purged():
    """purged: nothing of it is left"""
    run("dpkg", "-P", PACKAGE)
    found = run("find", "/etc", "/usr", "/run", "/var/lib", "/var/cache", "-xdev", "-name", "*mtuwatch*",
                "-not", "-path", "*mtuwatchd-test*", "-not", "-path", "/run/systemd/*")
    expect_equal("what is left", found.split(), [])


def need_rpm():
    if not RPM_PACKAGES:
        raise Skip("no RPM package was built")


def rpm(*words):
    """Debian's own wants to be told that this is meant; its database knows no library."""
    return ("rpm", "--force-debian", "--nodeps", *words)


def case_rpm_installed():
    """a fresh RPM install waits for its administrator, and runs as a user of its own"""
    need_rpm()
    run(*rpm("-i", *RPM_PACKAGES))
    expect_equal("ActiveState", unit_property("ActiveState"), "inactive")
    run("systemctl", "enable", "--now", UNIT)
    expect_running("mtuwatchd")


def case_rpm_upgraded():
    """an RPM upgrade keeps an edited configuration and runs again"""
    need_rpm()
    expect_upgrade(*rpm("-U", "--force", *RPM_PACKAGES))


def case_rpm_removed():
    """the RPM package removed while a path is clamped: no clamp, the edited configuration is saved"""
    need_rpm()
    files = files_only(run("rpm", "-ql", PACKAGE))
    expect(CONFIG in run("rpm", "-qc", PACKAGE).split(), f"{CONFIG} is no configuration file")
    expect_removal([*files, f"{CONFIG}.rpmsave"], [f"{CONFIG}.rpmsave"], *rpm("-e", PACKAGE))


def case_meson_installed():
    """meson install makes user, bus and catalog ready: what is enabled then has its name on the bus"""
    for user in ("mtuwatchd", "_mtuwatchd"):
        if subprocess.run(["id", user], capture_output=True, check=False).returncode == 0:
            run("userdel", user)
    run("meson", "install", "-C", os.environ["BUILD_DIR"], "--no-rebuild", "--quiet")
    run("systemctl", "daemon-reload")
    run("systemctl", "enable", "--now", UNIT)
    expect_running("mtuwatchd")


CASES = (case_installed, case_upgraded, case_removed, case_purged, case_rpm_installed,
         case_rpm_upgraded, case_rpm_removed, case_meson_installed)
