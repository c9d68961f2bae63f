# SPDX-License-Identifier: LGPL-2.1-or-later
"""The recipes of mtuwatchd-alerts(7) for many hosts: journals that come together on one of them. Two
hosts, each a systemd of its own; the first is the collector as well."""

import os
import re

from cases_recipes import (BETTER, CONFIG, WORSE, break_path, commands, files_install, installed,
                           mend_path, page, shell, watching)
from second_host import ADDRESS, SecondHost
from world import CONFIG as CONFIG_PATH
from world import Skip, expect, file_write, run, wait_for

REMOTE = "/lib/systemd/systemd-journal-remote"
SECTION = "A FLEET'S JOURNALS"
HOSTS = f"""\
127.0.0.1 localhost
192.0.2.1 host-a.example.net host-a
192.0.2.1 collector.example.net
{ADDRESS} host-b.example.net host-b
"""
UPLOAD = ("/etc/systemd/journal-upload.conf.d/fleet.conf",
          "/etc/systemd/system/systemd-journal-upload.service.d/fleet.conf")
# What is said to be done on each host is done by it when it boots.
ENROL = """\
[Unit]
After=network.target
[Service]
Type=oneshot
WorkingDirectory=/root
ExecStart=/bin/bash -ex /root/enrol
"""
CERTIFICATES = ("ca.pem", "host-b.example.net.pem", "host-b.example.net.key")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def collector_make():
    """This host: the authority, the collector, and the first of those who send."""
    file_write("/etc/hosts", HOSTS)
    run("hostname", "host-a")
    run("systemd-sysusers", "systemd-remote.conf")  # as the package does
    authority, collector, host, *_queries = commands(SECTION)
    files_install("/etc/systemd/journal-remote.conf.d/fleet.conf")
    files_install(UPLOAD[0])
    files_install(UPLOAD[1], RestartSec="200ms")
    for block in (authority, collector, host):
        shell(block, cwd="/root")


def second_host():
    texts = {path: page().files[path] for path in UPLOAD}
    texts[UPLOAD[1]] = re.sub("RestartSec=.*", "RestartSec=200ms", texts[UPLOAD[1]])
    texts |= {f"/root/{name}": read(f"/root/{name}") for name in CERTIFICATES}
    texts |= {"/root/enrol": commands(SECTION)[2], "/etc/systemd/system/enrol.service": ENROL,
              CONFIG_PATH: CONFIG, "/etc/hosts": HOSTS, "/etc/hostname": "host-b\n"}
    return SecondHost(texts, ["mtuwatchd.service", "enrol.service"])


def collector_turn(verb):
    run("systemctl", verb, "systemd-journal-remote.socket", *(
        ["systemd-journal-remote.service"] if verb == "stop" else []))


def case_recipes_fleet():
    """recipes: two hosts' journals on a collector; nothing is lost while it is away"""
    if not os.path.exists(REMOTE):
        raise Skip("neither installed nor to be had: systemd-journal-remote")
    installed("jq", "openssl")
    collector_make()
    watching()
    by_host, count = commands(SECTION)[3:]
    with second_host() as other:
        def told(block, *words):
            other.alive()
            text = shell(block)
            return all(re.search(word, text) for word in words) and text
        wait_for("the second host's daemon", lambda: told(
            f"journalctl -q -D {other.root}/var/log/journal", "mtuwatchd.* started"), 60)
        break_path()
        wait_for("both hosts in the collector's journals",
                 lambda: told(count, r"1 host-a\n", r"1 host-b\n"), 60)
        said = told(by_host, r"(?s) host-b mtuwatchd.*: peer san-a .* host-b mtuwatchd.*: peer san-a ")
        expect(said and " host-a " not in said, said)
        collector_turn("stop")
        mend_path()
        collector_turn("start")
        recovered = count.replace(WORSE, BETTER).replace("black-hole", "consistent")
        wait_for("both hosts' recoveries", lambda: told(recovered, r"1 host-a\n", r"1 host-b\n"), 60)
    run("systemctl", "disable", "--now", "systemd-journal-upload.service",
        "systemd-journal-remote.socket", "systemd-journal-remote.service")


CASES = (case_recipes_fleet,)
