# SPDX-License-Identifier: LGPL-2.1-or-later
"""What README and the manual print is true: every command line in them is run, or stands here with
where it is run instead, and what they show of our output is what comes out."""

import os
import re
import shutil
import subprocess

import printed
from cases_ctl import document
from world import (BASE_CONFIG, CONFIG, LINK_MTU, BusMonitor, Skip, drop_in_clear, expect, expect_equal,
                   file_write, journal_mark, journal_wait, peer_property, run, service_fresh,
                   switch_port_set, wait_for)

HERE = os.path.dirname(os.path.abspath(__file__))
PAGES = ("man1/mtuwatchctl.1", "man8/mtuwatchd.8", "man5/mtuwatchd.conf.5", "man5/org.mtuwatch1.5")
NODE_FOLDER = "/var/lib/prometheus/node-exporter"

# ---- every line, and what it has to do; or who runs it instead

RUN = {
    # command: exit status, what is in its output (a pattern)
    "systemctl daemon-reload && systemctl enable --now mtuwatchd": (0, r""),
    "systemctl daemon-reload && systemctl restart mtuwatchd": (0, r"^$"),
    "systemctl reload mtuwatchd": (0, r"^$"),
    "systemctl restart mtuwatchd": (0, r"^$"),
    "systemctl restart mtuwatchd-wait@san-a": (0, r"^$"),
    "systemctl service-log-level mtuwatchd": (0, r"^info$"),
    "systemd-analyze cat-config mtuwatchd/mtuwatchd.conf": (0, r"(?s)# /etc/mtuwatchd/mtuwatchd.conf.*\[Peer san-a\]"),
    "mtuwatchctl": (0, r"(?m)^san-a +192.0.2.10 +eth1 +9000/9000 consistent"),
    "mtuwatchctl status san-a eth1": (0, r"(?s)^san-a \(configured\).*^eth1 \(link\)|san-a.*eth1 \(link\)"),
    "mtuwatchctl check san-a": (0, r"san-a .* consistent"),
    "mtuwatchctl check --nagios san-a": (0, r"^MTU OK - san-a consistent 9000/9000 \|"),
    "mtuwatchctl explain san-a": (0, r"(?s)What was seen.*The way there.*What it means.*What to do"),
    "mtuwatchctl measure san-a": (3, r"iperf3"),
    "mtuwatchctl measure --sizes=1500,9000 --time=10s --runs=5 san-a": (3, r"iperf3"),
    "mtuwatchctl probe --expect=9000 192.0.2.10": (0, r"192.0.2.10 .* 9000/9000 consistent"),
    "mtuwatchctl probe --expect=9000 --method=tcp --port=3260 192.0.2.10": (0, r"9000/9000 consistent"),
    "mtuwatchctl --json=short list | jq -r '.Peers[] | select(.Severity != \"ok\") | .Text'": (0, r"^$"),
    "mtuwatchctl list --json=short | jq -r '.Peers[] | select(.Severity != \"ok\") | .Text'": (0, r"^$"),
    "mtuwatchctl wait --timeout=30s san-a && mount /srv": (0, r"^$"),
    "mtuwatchd --once 192.0.2.10": (0, r"192.0.2.10 .* 9000/9000 consistent"),
    "sudo mtuwatchd --once --expect 9000 --method tcp --port 3260 --flows 8 192.0.2.10":
        (0, r"192.0.2.10 .* 9000/9000 consistent"),
    "mtuwatchd --once --expect 9000 --method tcp --port 3260 --flows 8 --interface eth1 --interface eth2 "
    "192.0.2.10": (0, r"(?s)eth1 +9000/9000 consistent.*eth2 +9000/9000 consistent"),
    "mtuwatchd --test-config": (0, r"(?m)^\[Peer san-a\]$"),
    "mtuwatchd --release": (0, r"(?m)^$|192.0.2.77"),
    "ip route flush table all proto 77; ip -6 route flush table all proto 77": (0, r"^$"),
    "ip -s -s link": (0, r"(?s)eth1.*RX:.*errors"),
    "install -D -m 644 /usr/share/doc/mtuwatchd/clamp.conf /etc/systemd/system/mtuwatchd.service.d/clamp.conf":
        (0, r"^$"),
    "journalctl -x -t mtuwatchd --since yesterday -p warning": (0, r"(?s)Subject: .*san"),
    "journalctl -x -t mtuwatchd": (0, r"(?s)Subject: mtuwatchd has started.*peer san-a "),
    "journalctl MTUWATCH_PEER=san-a": (0, r"mtuwatchd\[\d+\]: peer san-a "),
    "nft add rule inet filter input ip saddr 192.0.2.0/24 udp dport 8899 accept": (0, r"^$"),
    "chgrp mtuwatchd /var/lib/prometheus/node-exporter": (0, r"^$"),
    "chmod g+w /var/lib/prometheus/node-exporter": (0, r"^$"),
    "busctl call org.mtuwatch1 /org/mtuwatch1 org.mtuwatch1.Manager Check s san-a":
        (0, r'^a\{sv\} \d+ "Name" s "san-a"'),
    "busctl call org.mtuwatch1 /org/mtuwatch1 org.mtuwatch1.Manager Probe sa{sv} 192.0.2.10 2 ExpectMTU u 9000 "
    "Method s tcp": (0, r'"Verdict" s "consistent"'),
    "busctl get-property org.mtuwatch1 /org/mtuwatch1/peer/san_2da org.mtuwatch1.Peer Verdict PathMTU":
        (0, r'^s "consistent"\nu 9000$'),
    "busctl --json=short call org.mtuwatch1 /org/mtuwatch1 org.mtuwatch1.Manager Describe":
        (0, r'^\{"type":"s","data":\["\{'),
}

ELSEWHERE = {
    "sudo ./run": "the fresh suite",
    "sudo ./run demo": "the fresh suite",
    "sudo ./run test": "the fresh suite",
    "sudo ./run test unit lab": "the fresh suite, with FRESH_SUITES",
    "sudo ./run test --sanitize": "whoever changes C: it is this suite again",
    "sudo CC=clang ./run test": "whoever changes C: it is this suite again",
    "sudo ./run test --fresh": "it is the fresh suite",
    "sudo ./run test --soak": "an hour: tests/lab/soak.py",
    "sudo ./run test --clamps": "tests/lab/clamps.py; in short the lab's clamp-crash, -fail and -link-crash",
    "sudo ./run test --year": "the unit suite, some days of it",
    "sudo ./run test --faults": "tests/lab/faults.py; in short the lab's faults",
    "sudo ./run test --fuzz": "tests/fuzz/long.py; in short the fuzz suite",
    "sudo ./run test --forge": "tests/lab/forge.py; in short the lab's forge",
    "sudo ./run test --flood": "this suite's cases_flood, for a minute",
    "sudo ./run test --coverage": "other suites, built and counted otherwise",
    "sudo ./run test --memcheck": "other suites, under valgrind",
    "sudo ./run test --analyse": "reads the sources: tests/analyse.py",
    "ninja -C build && sudo tests/bench/bench.py many scale": "figures of a machine, which no test asserts",
    "apt-get install gcc libc6-dev meson ninja-build pkg-config libsystemd-dev libmount-dev libnl-3-dev "
    "libnl-route-3-dev libnl-idiag-3-dev libinih-dev libjson-c-dev libcap-dev libsmartcols-dev":
        "the fresh suite, case_install; compared with what ./run installs below",
    "meson setup build-install --prefix=/usr": "the fresh suite, case_install",
    "meson install -C build-install": "the fresh suite, case_install",
    "dpkg-buildpackage -us -uc -b": "the package suite",
    "mtuwatchctl explain san": "the demo; compared with what README prints below",
    "mtuwatchctl monitor": "case_ctl_monitor: it does not end by itself",
    "mtuwatchctl -H root@db1 list": "case_ctl_other_host, which has a host",
    "busctl monitor --match=\"type='signal',interface='org.mtuwatch1.Manager'\"": "below, by this rule",
    "systemctl edit mtuwatchd-wait@.service": "below, with what the page says to write",
    "ping -M do -s": "a part of a command: what a loop of it can do",
    "ip link": "a part of a command: what sets an MTU for now",
    "iperf3 -s": "tests/lab: on the peer of measure",
    "mtuwatchctl wait": "a part of a command: what the unit runs",
    "mtuwatchd --once --json=": "a part of a command: --json=short is run by the lab",
    "mtuwatchd --config": "a part of a command: FILE follows",
    "journalctl -x": "with its options above",
    "ethtool -S": "a part of a command: what the driver counts",
}


def page_read(name):
    if name == "README.md":
        path = os.path.join(HERE, name)
    else:
        prefix = os.path.dirname(os.path.dirname(shutil.which("mtuwatchctl")))
        path = f"{prefix}/share/man/{name}"
    with open(path, encoding="utf-8") as page:
        return page.read()


def in_container(command):
    """Where this build is installed elsewhere than the page says, and root needs no sudo."""
    prefix = os.path.dirname(os.path.dirname(shutil.which("mtuwatchctl")))
    return command.replace("/usr/share/doc", f"{prefix}/share/doc").removeprefix("sudo ")


def line_run(command):
    status, pattern = RUN[command]
    done = subprocess.run(["sh", "-c", in_container(command)], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=90, check=False)
    said = done.stdout + done.stderr
    expect_equal(f"exit status of {command!r} ({said.strip()[-500:]})", done.returncode, status)
    expect(re.search(pattern, said.strip()), f"{command!r} says {said!r}, not {pattern!r}")


def second_leg_make():
    """eth2, into the same switch."""
    run("ip", "link", "add", "eth2", "mtu", str(LINK_MTU), "type", "veth", "peer", "name", "port-c",
        "mtu", str(LINK_MTU), "netns", "switch")
    run("ip", "-n", "switch", "link", "set", "port-c", "master", "br0", "up")
    run("ip", "addr", "add", "192.0.2.2/24", "dev", "eth2", "metric", "4000")
    run("ip", "link", "set", "eth2", "up")


def world_make():
    second_leg_make()
    os.makedirs(NODE_FOLDER, exist_ok=True)
    with open("/etc/fstab", "w", encoding="ascii") as table:
        table.write("tmpfs /srv tmpfs noauto 0 0\n")
    run("nft", "add table inet filter; add chain inet filter input { type filter hook input priority 0; }")
    run("ip", "route", "add", "192.0.2.77", "dev", "eth1", "proto", "77")
    service_fresh(BASE_CONFIG.replace("[Peer san]", "[Peer san-a]"))
    wait_for("san-a consistent", lambda: peer_property("san-a", "Verdict") == "consistent")
    # so that there is something in the journal
    switch_port_set(1500)
    wait_for("san-a a black hole", lambda: peer_property("san-a", "Verdict") == "black-hole", 40)
    switch_port_set(LINK_MTU)
    wait_for("san-a consistent", lambda: peer_property("san-a", "Verdict") == "consistent", 40)


def world_end():
    for command in (("umount", "/srv"), ("ip", "link", "delete", "eth2"),
                    ("nft", "delete", "table", "inet", "filter"),
                    ("ip", "route", "flush", "table", "all", "proto", "77"),
                    ("systemctl", "stop", "mtuwatchd-wait@san-a"),
                    ("rm", "-rf", "/etc/systemd/system/mtuwatchd.service.d")):
        subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    drop_in_clear()
    run("systemctl", "daemon-reload")


def case_printed_lines():
    """every command line in README and the manual is run here, or it is said where"""
    if not shutil.which("nft") or not shutil.which("jq"):
        raise Skip("not installed: nft or jq")
    pages = {name: printed.commands_in(name, page_read(name)) for name in ("README.md", *PAGES)}
    known = {*RUN, *ELSEWHERE}
    for name, lines in pages.items():
        expect(lines, f"no command in {name}")
        new = [line for line in lines if line not in known]
        expect(not new, f"{name}: neither run nor known to be run elsewhere: {new}")
    gone = known - {line for lines in pages.values() for line in lines}
    expect(not gone, f"in no page any more: {sorted(gone)}")
    try:
        world_make()
        for command in dict.fromkeys(line for lines in pages.values() for line in lines):
            if command in RUN:
                line_run(command)
        expect("dport 8899" in run("nft", "list", "chain", "inet", "filter", "input"), "no rule")
        expect_equal("routes of 77", run("ip", "route", "show", "table", "all", "proto", "77"), "")
        expect(os.path.ismount("/srv"), "/srv is not mounted")
    finally:
        world_end()


def case_printed_packages():
    """README's packages are those that ./run installs for a build"""
    with open(os.path.join(HERE, "run"), encoding="utf-8") as script:
        listed = re.search(r'^PACKAGES_BUILD="([^"]*)"', script.read(), re.M).group(1).split()
    line = next(one for one in printed.commands_in("README.md", page_read("README.md"))
                if one.startswith("apt-get install"))
    expect_equal("packages", sorted(line.split()[2:]), sorted(["gcc", *listed]))


# ---- output that is shown

def words(text):
    return " ".join(text.split())


def named_alike(text):
    """README's peer and link, by the names they have here."""
    return re.sub(r"\b192\.0\.2\.2\b", "192.0.2.10", re.sub(r"\beth0\b", "eth1", text))


def picture(text):
    """Steps and numbers of a picture, whatever its width."""
    return [tuple(words(re.sub(r"[━=]{2,}", " ", line)).split(" "))
            for line in text.split("\n") if re.search(r"━.* \d+ +\d+ +\d+", line)]


def case_printed_output():
    """README's sentence, picture and meaning of a black hole are what comes out"""
    readme = named_alike(page_read("README.md"))
    block = "\n".join(line[4:] for line in readme.split("\n") if line.startswith("    "))
    service_fresh(BASE_CONFIG)
    wait_for("san consistent", lambda: peer_property("san", "Verdict") == "consistent")
    mark = journal_mark()
    with BusMonitor("type='signal',interface='org.mtuwatch1.Manager'") as signals:
        switch_port_set(1500)
        record = journal_wait(mark, "the fault", MTUWATCH_VERDICT="black-hole")
        wait_for("the signal", lambda: [one for one in signals.messages
                                        if one.get("member") == "VerdictChanged"])
    expect(f"journal: {record['MESSAGE']} " in words(block) + " ", f"README lacks {record['MESSAGE']!r}")
    explained = run("env", "LANG=C.UTF-8", "mtuwatchctl", "explain", "san")
    wanted = picture(block)
    expect_equal("steps", [step for step in picture(explained) if step[0] != "connections"], wanted)
    for sentence in document("explain", "san")["Paths"][0]["Diagnosis"]:
        expect(sentence in words(block), f"README lacks {sentence!r}")


ERRORS_FILE = """\
[Daemon]

# a line
# and others


Interval=fast
[Peer san]
Adress=192.0.2.10
"""


def case_printed_errors():
    """mtuwatchd.conf(5) prints errors as they are"""
    page = printed.unescaped(page_read("man5/mtuwatchd.conf.5"))
    shown = re.findall(r"^/etc/mtuwatchd/mtuwatchd\.conf:\d+: .*$", page, re.M)
    file_write(CONFIG, ERRORS_FILE)
    done = subprocess.run(["mtuwatchd", "--test-config"], capture_output=True, text=True, check=False)
    expect_equal("exit status", done.returncode, 78)
    said = [line.removeprefix("mtuwatchd: ") for line in done.stderr.splitlines()]
    for line in shown:
        expect(line in said, f"{line!r} is not among {said}")
    file_write(CONFIG, BASE_CONFIG)


def case_printed_wait():
    """mtuwatchctl(1): "systemctl edit" with what it says to write gives the wait another time"""
    page = printed.unescaped(page_read("man1/mtuwatchctl.1"))
    text = re.search(r"^\[Service\]\n(ExecStart=.*\n)+", page, re.M).group(0)
    file_write("/run/printed-drop-in", text)
    file_write("/run/printed-editor", '#!/bin/sh\nfor file; do :; done\ncp /run/printed-drop-in "$file"\n')
    os.chmod("/run/printed-editor", 0o700)
    # it edits on a terminal only
    run("script", "-qec", "SYSTEMD_EDITOR=/run/printed-editor systemctl edit mtuwatchd-wait@.service",
        "/dev/null")
    try:
        shown = run("systemctl", "show", "-p", "ExecStart", "mtuwatchd-wait@san.service")
        expect("--timeout=10min san " in shown and shown.count("argv[]=") == 1, shown)
    finally:
        run("systemctl", "revert", "mtuwatchd-wait@.service")


CASES = (case_printed_lines, case_printed_packages, case_printed_output, case_printed_errors,
         case_printed_wait)
