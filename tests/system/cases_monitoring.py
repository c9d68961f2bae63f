# SPDX-License-Identifier: LGPL-2.1-or-later
"""The recipes of mtuwatchd-alerts(7) for Nagios and Icinga, whose real daemons run here. What their
packages' scripts would have made is made here."""

import os
import re
import shutil
import time

from cases_recipes import (CTL, NOBODY, break_path, commands, files_install, installed, mend_path,
                           page, shell, units_start, units_stop, watching)
from world import MANAGER, expect, expect_not_let, file_write, refused, run, wait_for

RULES = "/etc/polkit-1/rules.d/50-mtuwatchd-monitoring.rules"
NAGIOS = "/etc/nagios4/nagios.cfg"
NRPE = "/etc/nagios/nrpe.cfg"
PIPE = "/var/lib/nagios4/rw/nagios.cmd"
STATUS = "/var/lib/nagios4/status.dat"
ICINGA_PIPE = "/run/icinga2/cmd/icinga2.cmd"
ICINGA_STATUS = "/var/cache/icinga2/status.dat"
OURS = ("/var/lib/nagios4/spool/checkresults", "/var/lib/nagios4/rw", "/var/lib/nagios4",
        "/var/log/nagios4/archives", "/var/log/nagios4", "/etc/nagios4", "/run/nagios4", "/run/nagios",
        "/var/log/icinga2", "/var/lib/icinga2", "/var/cache/icinga2", "/var/spool/icinga2",
        "/etc/icinga2/features-enabled", "/etc/icinga2")


def tool_named():
    """The page calls it as Debian's package installs it."""
    if not os.path.exists("/usr/bin/mtuwatchctl"):
        os.symlink(shutil.which(CTL), "/usr/bin/mtuwatchctl")


def user_make():
    """The user of all three, and what belongs to it."""
    file_write("/run/sysusers.d/nagios.conf", "u nagios - - /var/lib/nagios\ng www-data - -\n")
    run("systemd-sysusers", "/run/sysusers.d/nagios.conf")
    for path in OURS:
        os.makedirs(path, exist_ok=True)
        run("chown", "-R", "nagios:nagios", path)
    files_install(RULES)
    tool_named()


AS_NAGIOS = ("setpriv", "--reuid=nagios", "--regid=nagios", "--clear-groups")


def case_recipes_leave():
    """recipes: whom the rule for polkit names may have peers checked, and may do nothing else"""
    watching()
    user_make()
    block = commands("Who may ask")[0]
    expect(block.startswith(" ".join(AS_NAGIOS)), block)
    # polkit reads new rules in its own time
    line = wait_for("leave to ask", lambda: shell(block))
    expect(line.startswith("MTU OK - san-a consistent 9000/9000 | "), line)
    for method in (("Reload",), ("Release", "s", ""), ("Probe", "sa{sv}", "192.0.2.10", "0")):
        expect_not_let(refused(*AS_NAGIOS, "busctl", "call", *MANAGER, *method))
    expect_not_let(refused(*NOBODY, "busctl", "call", *MANAGER, "CheckAll"))


def nagios_prepare():
    """Debian's own files; what is done every ten seconds is done every second, and NRPE answers the
    monitoring host."""
    with open(NRPE, encoding="utf-8") as file:
        text = re.sub(r"^(allowed_hosts=.*)", r"\1,192.0.2.1", file.read(), flags=re.M)
    file_write(NRPE, text)
    shutil.copytree("/usr/share/monitoring-plugins/templates-basic", "/etc/nagios-plugins/config",
                    dirs_exist_ok=True)
    with open(NAGIOS, encoding="utf-8") as file:
        text = re.sub(r"^(status_update_interval|check_result_reaper_frequency)=.*", r"\1=1",
                      file.read(), flags=re.M)
    file_write(NAGIOS, text)


def service_output(status_file, name):
    """What the monitor has of this service of host-a: state and text."""
    if not os.path.exists(status_file):
        return None
    with open(status_file, encoding="utf-8") as file:
        found = re.search(r"servicestatus {\n\thost_name=host-a\n\tservice_description=" + name +
                          r"\n.*?\tcurrent_state=(\d)\n.*?\tplugin_output=(.*?)\n", file.read(), re.S)
    return found.groups() if found else None


def service_wait(name, state, text, status_file=STATUS, asked=None):
    """Until the monitor has this; asked where it would come to it within five minutes only. One
    that has just been told to reload forgets what it was asked."""
    last = None

    def told():
        nonlocal last
        if asked and last != int(time.time()) and os.path.exists(asked):
            last = int(time.time())
            with open(asked, "w", encoding="ascii") as pipe:
                pipe.write(f"[{last}] SCHEDULE_FORCED_SVC_CHECK;host-a;{name};{last}\n")
        seen = service_output(status_file, name)
        expect(seen and seen[0] == state and seen[1].startswith(text), str(seen))
        return True
    wait_for(f"{name} {state}: {text}", told, 40)


def case_recipes_nagios():
    """recipes: Nagios asks by NRPE as a user that may do nothing else, and is told by itself at once"""
    installed("jq", "nagios4", "nrpe", "/usr/lib/nagios/plugins/check_nrpe",
              "/usr/lib/nagios/plugins/check_dummy")
    watching()
    user_make()
    wait_for("leave to ask", lambda: shell(commands("Who may ask")[0]))
    nagios_prepare()
    files_install("/etc/nagios/nrpe.d/mtu.cfg", *(path for path in page().files
                                                  if path.startswith("/etc/nagios4/")))
    run("systemctl", "start", "nagios-nrpe-server.service", "nagios4.service")
    try:
        # a SIGHUP before they expect one would end them
        wait_for("NRPE", lambda: ":5666 " in run("ss", "-Hlnt"))
        wait_for("the pipe of Nagios", lambda: os.path.exists(PIPE))
        for block in commands("Nagios with NRPE"):
            shell(block)
        service_wait("MTU", "0", "MTU OK - san-a consistent 9000/9000", asked=PIPE)
        units_start()
        files_install(*(path for path in page().files if re.search(r"passive", path) and
                        not path.startswith("/etc/nagios4/")))
        shell(commands("Passive results")[0])
        service_wait("MTU passive", "0", "MTU OK - san-a consistent 9000/9000")
        break_path()
        service_wait("MTU passive", "2", "MTU CRITICAL - san-a black-hole 1500/9000 (on-link)")
        mend_path()
        service_wait("MTU passive", "0", "MTU OK - san-a consistent 9000/9000")
    finally:
        units_stop()
        run("systemctl", "stop", "mtu-*", "nagios-nrpe-server.service", "nagios4.service")


def case_recipes_icinga():
    """recipes: Icinga 2 takes the command, the host and the service, and runs what was said"""
    installed("icinga2")
    watching()
    user_make()
    for feature in ("checker", "command", "statusdata"):
        os.symlink(f"../features-available/{feature}.conf", f"/etc/icinga2/features-enabled/{feature}.conf")
    file_write("/etc/icinga2/features-available/statusdata.conf",
               "object StatusDataWriter \"status\" {\n  update_interval = 1s\n}\n")
    run("systemctl", "start", "icinga2.service")
    try:
        wait_for("the pipe of Icinga", lambda: os.path.exists(ICINGA_PIPE))
        files_install("/etc/icinga2/conf.d/mtu.conf")
        said = shell(commands("Icinga 2")[0])
        expect("warning" not in said and "critical" not in said, said)
        service_wait("mtu", "0", "MTU OK - san-a consistent 9000/9000", ICINGA_STATUS, ICINGA_PIPE)
    finally:
        run("systemctl", "stop", "icinga2.service")


CASES = (case_recipes_leave, case_recipes_nagios, case_recipes_icinga)
