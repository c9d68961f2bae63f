# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian package over its life: installed, upgraded, removed while a path is clamped, purged."""

import glob
import os
import pwd

from world import (BASE_CONFIG, CONFIG, LINK_MTU, UNIT, bus_name_owned, drop_in_clear, drop_in_set,
                   expect, expect_equal, peer_names, run, service_fresh, switch_port_set,
                   unit_pid, unit_property, wait_for)

PACKAGES = glob.glob("/var/lib/mtuwatchd-test/*.deb")
PACKAGE = "mtuwatchd"
EDITED = BASE_CONFIG + "# edited here\n"


def installed_files():
    return [name for name in run("dpkg", "-L", PACKAGE).splitlines() if not os.path.isdir(name)]


def configuration_files():
    return run("dpkg-query", "-f", "${Conffiles}", "-W", PACKAGE).split()[0::2]


def clamp_shown():
    return "proto mtuwatchd" in run("ip", "route", "show", "192.0.2.10")


def case_installed():
    """a fresh install runs at once, as a user of its own, and is enabled"""
    # this machine may have been told to start nothing
    if os.path.lexists("/usr/sbin/policy-rc.d"):
        os.unlink("/usr/sbin/policy-rc.d")
    run("dpkg", "-i", *PACKAGES)
    wait_for("the name on the bus", bus_name_owned)
    expect_equal("ActiveState", unit_property("ActiveState"), "active")
    expect_equal("is-enabled", run("systemctl", "is-enabled", UNIT).strip(), "enabled")
    owner = os.stat(f"/proc/{unit_pid()}").st_uid
    expect_equal("its user", pwd.getpwuid(owner).pw_name, "_mtuwatchd")
    run("mtuwatchctl", "list")
    run("man", "-w", "mtuwatchd", "mtuwatchctl", "mtuwatchd.conf", "org.mtuwatch1")


def case_upgraded():
    """an upgrade keeps an edited configuration and runs again"""
    service_fresh(EDITED)
    before = unit_pid()
    run("dpkg", "-i", *PACKAGES)
    wait_for("another process", lambda: unit_pid() not in (0, before))
    wait_for("the edited configuration's peer", lambda: bus_name_owned() and "san" in peer_names())
    with open(CONFIG, encoding="utf-8") as file:
        expect_equal("the configuration", file.read(), EDITED)


def case_removed():
    """removed while a path is clamped: no clamp, no process, only the configuration stays"""
    with open("/usr/share/doc/mtuwatchd/clamp.conf", encoding="utf-8") as file:
        drop_in_set(file.read())
    try:
        service_fresh(BASE_CONFIG + "Clamp=route\n")
        switch_port_set(1500)
        wait_for("the clamp", clamp_shown, 40)
        files, kept = installed_files(), configuration_files()
        run("dpkg", "-r", PACKAGE)
        expect(not clamp_shown(), "the clamp is still there")
        expect(CONFIG in kept, f"{CONFIG} is no configuration file")
        expect_equal("what is left", [name for name in files if os.path.lexists(name)], kept)
        expect(unit_property("ActiveState") != "active", "it still runs")
    finally:
        switch_port_set(LINK_MTU)
        drop_in_clear()


def case_purged():
    """purged: nothing of it is left"""
    run("dpkg", "-P", PACKAGE)
    found = run("find", "/etc", "/usr", "/run", "/var/lib", "/var/cache", "-xdev", "-name", "*mtuwatch*",
                "-not", "-path", "*mtuwatchd-test*", "-not", "-path", "/run/systemd/*")
    expect_equal("what is left", found.split(), [])


CASES = (case_installed, case_upgraded, case_removed, case_purged)
