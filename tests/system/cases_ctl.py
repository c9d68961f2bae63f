# SPDX-License-Identifier: LGPL-2.1-or-later
"""mtuwatchctl, the unit that waits, the completions and the metrics, on a booted systemd."""

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import threading

from world import (BASE_CONFIG, CONFIG, LINK_MTU, UNIT, Skip, bus_call, expect,
                   expect_equal, file_write, peer_property, run, service_fresh, service_watching,
                   switch_port_set, unit_pid, unit_property, unit_wait, wait_for)

CTL = "mtuwatchctl"
NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
ABSENT = "\n[Peer absent]\nAddress=192.0.2.99\n"


def ctl(*arguments, status=0, prefix=(), env=None):
    """What it printed; its exit status has to be this one."""
    done = subprocess.run([*prefix, CTL, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=150, check=False, env={**os.environ, **(env or {})})
    expect(done.returncode == status, f"{CTL} {' '.join(arguments)}: exit {done.returncode}, not "
           f"{status}: {done.stdout}{done.stderr}")
    return done.stdout if status in (0, 1, 2) and done.stdout else done.stdout + done.stderr


def document(*arguments, status=0):
    return json.loads(ctl("--json=short", *arguments, status=status))


def black_hole():
    switch_port_set(1500)
    wait_for("san is a black hole", lambda: peer_property("san", "Verdict") == "black-hole", 40)


def case_ctl_list():
    """list: a row a path as --once has it, JSON as Describe has it, faults below"""
    service_watching()
    expect_equal("list without a verb", ctl().split()[:7], ctl("list").split()[:7])
    lines = ctl("list").splitlines()
    expect_equal("titles", lines[0].split(), ["PEER", "ADDRESS", "LINK", "PASSES/OF", "VERDICT",
                                              "SINCE"])
    expect_equal("row", lines[1].split()[:5],
                 ["san", "192.0.2.10", "eth1", f"{LINK_MTU}/{LINK_MTU}", "consistent"])
    expect_equal("lines", len(lines), 2)
    described, listed = json.loads(bus_call("Describe")[0]), document("list")
    expect_equal("keys", list(listed), list(described))
    expect_equal("keys of a peer", list(listed["Peers"][0]), list(described["Peers"][0]))
    checked = document("check", "san")["Peers"][0]
    expect_equal("keys of a checked peer", list(checked), list(described["Peers"][0]))
    expect_equal("keys of a checked path", list(checked["Paths"][0]),
                 list(described["Peers"][0]["Paths"][0]))
    pretty = ctl("--json=pretty")
    expect('\n  "Peers": [' in pretty and json.loads(pretty)["Verdict"] == "consistent", pretty)
    black_hole()
    text = ctl("list")
    expect("1500/9000 black-hole" in text and "\n\ncritical: peer san (192.0.2.10) by eth1: " in text
           and "raise its MTU" in text, text)
    once = subprocess.run(["mtuwatchd", "--once"], capture_output=True, text=True, timeout=60,
                          check=False).stdout
    expect_equal("the sentence of --once",
                 [line for line in once.splitlines() if line.startswith("critical: ")],
                 [line for line in text.splitlines() if line.startswith("critical: ")])
    bare = ctl("list", "--no-legend")
    expect_equal("lines without a legend", [line.split()[0] for line in bare.splitlines()], ["san"])


def case_ctl_status():
    """status: the whole, a peer and a link in full, exit codes, the nearest name"""
    service_watching()
    text = ctl("status")
    expect(re.search(r"^mtuwatchd \S+: ok$", text, re.M) and "Peers: 1, 0 with a fault" in text, text)
    text = ctl("status", "san", "eth1")
    for wanted in ("san (configured)", "Path: 192.0.2.10 by eth1\n", "From: 192.0.2.1\n",
                   "Verdict: consistent", f"Passes: {LINK_MTU} of {LINK_MTU} bytes",
                   "eth1 (link)", "Kind: veth", "State: up"):
        expect(wanted in text, f"no {wanted!r} in {text}")
    shown = document("status", "san", "eth1")
    expect_equal("peers and links", [[one["Name"] for one in shown[key]]
                                     for key in ("Peers", "Links")], [["san"], ["eth1"]])
    expect('there is no peer or link "sann"; did you mean "san"?' in ctl("status", "sann", status=3),
           ctl("status", "sann", status=3))
    black_hole()
    text = ctl("status", "san", status=2)
    expect("Verdict: black-hole, critical" in text and "Place: on-link" in text, text)
    expect("critical" in ctl("status", status=2), "no fault in the summary")


def case_ctl_check():
    """check: exit codes 0, 2 and 3, a plugin's line, who may not"""
    service_fresh(BASE_CONFIG)
    expect("consistent" in ctl("check", "san"), "check san")
    line = ctl("check", "--nagios", "san")
    expect(re.fullmatch(r"MTU OK - san consistent 9000/9000 \| 'san mtu'=9000B;9000:;;68;65535 "
                        r"'san rtt'=0\.\d{6}s;;;0 'san sent'=\d+c 'san lost'=\d+c\n", line), line)
    said = ctl("check", "sam", status=3)
    expect('There is no peer "sam"; did you mean "san"?' in said, said)
    said = ctl("check", "--nagios", "sam", status=3)
    expect_equal("plugin's line", said, 'MTU UNKNOWN - There is no peer "sam"; did you mean "san"?\n')
    said = ctl("check", prefix=NOBODY, status=77)
    expect("not authorised" in said, said)
    said = ctl("check", "--nagios", prefix=NOBODY, status=3)
    expect(said.startswith("MTU UNKNOWN - not authorised"), said)
    black_hole()
    expect("black-hole" in ctl("check", status=2), "check")
    line = ctl("check", "--nagios", status=2)
    expect(line.startswith("MTU CRITICAL - san black-hole 1500/9000 (on-link) | 'san mtu'=1500B;"),
           line)
    file_write(CONFIG, BASE_CONFIG + ABSENT)
    ctl("reload")
    switch_port_set(LINK_MTU)
    wait_for("absent unreachable", lambda: peer_property("absent", "Verdict") == "unreachable", 60)
    expect("unreachable" in ctl("check", "absent", status=3), "check absent")


def case_ctl_probe():
    """probe: an address that is not watched, its options, what cannot be"""
    service_watching()
    shown = json.loads(ctl("probe", "192.0.2.11", "--expect", "9000", "--json=short"))
    expect_equal("probed", [(one["Address"], one["Verdict"], one["PathMTU"], one["Origin"])
                            for one in shown["Peers"]],
                 [("192.0.2.11", "consistent", 9000, "request")])
    text = ctl("probe", "--method=tcp", "--port=22", "--flows=4", "--interface=eth1", "192.0.2.10")
    expect("consistent" in text, text)
    for words, wanted in ((("--expect=67", "192.0.2.11"), "expected a number from 68"),
                          (("--expect=big", "192.0.2.11"), "--expect=big: expected a number"),
                          (("--port=65536", "192.0.2.11"), "--port=65536: expected a number"),
                          (("--method=smoke", "192.0.2.11"), "smoke"),
                          (("1.2.3",), "expected an IPv4 or IPv6 address"),
                          (("192.0.2.1",), "another host"), ((), "expected ADDRESS")):
        said = ctl("probe", *words, status=64)
        expect(wanted in said, f"no {wanted!r} in {said}")
    expect_equal("peers", [one["Name"] for one in document("list")["Peers"]], ["san"])


def case_ctl_links():
    """links: a table and the document of the links alone"""
    service_fresh(BASE_CONFIG + "\n[Link eth1]\nExpectMTU=9100\n")
    text = ctl("links")
    row = next(line.split() for line in text.splitlines() if line.startswith("eth1 "))
    expect_equal("row", row, ["eth1", "veth", "9000", "9100", "65535", "up", "warning"])
    expect("\nwarning: link eth1 has an MTU of 9000, 9100 expected\n    ip link set dev eth1" in text,
           text)
    shown = document("links")
    expect_equal("peers", shown["Peers"], [])
    expect("eth1" in [one["Name"] for one in shown["Links"]], shown)
    ctl("status", "eth1", status=1)


def begin(*arguments):
    return subprocess.Popen([CTL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)


def case_ctl_wait():
    """wait: proven at once, in vain, over a peer that comes later and a daemon that is restarted"""
    service_watching()
    ctl("wait", "san", "--timeout=20s")
    said = ctl("wait", "sam", "--timeout=1s", status=3)
    expect('did you mean "san"?' in said, said)
    black_hole()
    said = ctl("wait", "san", "--timeout=2s", status=2)
    expect("peer san (192.0.2.10) by eth1: black-hole" in said, said)
    waiting = begin("wait", "san", "san-b", "--timeout=2min")
    try:
        os.kill(unit_pid(), signal.SIGKILL)
        wait_for("the daemon to be back", lambda: unit_property("ActiveState") == "active" and
                 unit_property("NRestarts") != "0", 30)
        expect(waiting.poll() is None, "it ended over a black hole")
        switch_port_set(LINK_MTU)
        wait_for("san consistent", lambda: peer_property("san", "Verdict") == "consistent", 40)
        expect(waiting.poll() is None, "it ended without san-b")
        file_write(CONFIG, BASE_CONFIG + "\n[Peer san-b]\nAddress=192.0.2.11\n")
        ctl("reload")
        output, _ = waiting.communicate(timeout=60)
        expect_equal("exit status and output", (waiting.returncode, output), (0, ""))
    finally:
        waiting.kill()
    # whoever may not have anything checked waits for a round
    ctl("wait", "san", "--timeout=30s", prefix=NOBODY)


def case_ctl_monitor():
    """monitor: verdicts as they change, the daemon going and coming, JSON a line an event"""
    service_watching()
    watching, events = begin("monitor"), begin("monitor", "--json=short")
    lines, parsed = [], []
    for process, keep in ((watching, lines.append),
                          (events, lambda line: parsed.append(json.loads(line)))):
        threading.Thread(target=lambda stream=process.stdout, keep=keep:
                         [keep(line) for line in stream], daemon=True).start()
    try:
        # the first event that both have seen shows that they listen
        wait_for("the monitors", lambda: run("ip", "link", "set", "eth1", "mtu", "8000") == "" and
                 run("ip", "link", "set", "eth1", "mtu", str(LINK_MTU)) == "" and lines and parsed)
        expect({one["Event"] for one in parsed} <= {"link", "verdict"}, parsed)
        wait_for("san consistent", lambda: peer_property("san", "Verdict") == "consistent", 40)
        black_hole()
        wait_for("the verdict", lambda: any("black-hole" in line for line in lines) and
                 any(one["Event"] == "verdict" and one["After"] == "black-hole" and
                     one["Peer"] == "san" and one["Details"]["Text"] for one in parsed))
        run("systemctl", "restart", UNIT)
        wait_for("gone and back", lambda: [one["Event"] for one in parsed
                                           if one["Event"] in ("gone", "back")][:2] ==
                 ["gone", "back"])
        expect(any("mtuwatchd: is not there" in line for line in lines) and
               any("mtuwatchd: is there" in line for line in lines), lines)
    finally:
        for process in (watching, events):
            process.kill()
            process.wait()


def case_ctl_manage():
    """reload and release: silent when done, the file and line, who may not"""
    service_watching()
    expect_equal("reload", ctl("reload"), "")
    file_write(CONFIG, BASE_CONFIG + "Intervall=1s\n")
    said = ctl("reload", status=78)
    expect(f"{CONFIG}:{BASE_CONFIG.count(chr(10)) + 1}: Intervall=" in said, said)
    ctl("reload", prefix=NOBODY, status=77)
    expect_equal("release", ctl("release"), "There is no clamp.\n")
    expect_equal("release of a peer", ctl("release", "san"), "There is no clamp on san.\n")
    expect_equal("release of a link", ctl("release", "eth1"), "There is no clamp on eth1.\n")
    expect("no peer and no link" in ctl("release", "sam", status=3), "release of nothing")
    ctl("release", prefix=NOBODY, status=77)


def case_ctl_unheard():
    """what nobody gets is no success: stdout closed, or a full disk"""
    service_watching()
    for words in ("list", "status", "check san", "check --nagios san", "explain san", "--help",
                  "--json=short list", "monitor"):
        for where, why in ((">&-", "Bad file descriptor"), (">/dev/full", "No space left")):
            if words == "monitor" and where == ">&-":
                continue  # it has nothing to say yet
            command = f"{CTL} {words} {where}"
            watching = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, text=True,
                                        stderr=subprocess.PIPE)
            if words == "monitor":
                wait_for("its end", lambda watching=watching: link_flap() or
                         watching.poll() is not None)
            _, said = watching.communicate(timeout=60)
            expect_equal(f"exit status of {command}", watching.returncode, 3)
            # of what was lost a while ago nobody knows why any more
            expect(said.startswith("mtuwatchctl: writing to stdout: " +
                                   ("" if words == "monitor" else why)), f"{command}: {said}")
    # nothing was to be written
    for words in ("reload", "wait san"):
        run("sh", "-c", f"{CTL} {words} >&-")


def link_flap():
    for mtu in (8000, LINK_MTU):
        run("ip", "link", "set", "eth1", "mtu", str(mtu))


def case_ctl_monitor_storm():
    """monitor: of a hundred links that change at once none is left out"""
    service_watching()
    names = [f"storm{number}" for number in range(100)]
    batch = "/run/storm"

    def all_at_once(action):
        file_write(batch, "".join(f"link {action.format(name)}\n" for name in names))
        run("ip", "-batch", batch)

    all_at_once("add {} type bridge")
    try:
        wait_for("the links", lambda: set(names) <= {link[0] for link in bus_call("ListLinks")[0]})
        watching = begin("monitor", "--json=short")
        seen = []
        threading.Thread(target=lambda: [seen.append(json.loads(line)) for line in watching.stdout],
                         daemon=True).start()
        try:
            wait_for("the monitor", lambda: link_flap() or seen)
            # a monitor that is slow gets them all in one turn
            watching.send_signal(signal.SIGSTOP)
            all_at_once("set {} mtu 1400")
            wait_for("the daemon", lambda: {1400} == {link[1] for link in bus_call("ListLinks")[0]
                                                      if link[0] in names})
            watching.send_signal(signal.SIGCONT)
            wait_for("all of them", lambda: set(names) <= {one["Link"]["Name"] for one in seen
                                                           if one["Event"] == "link" and
                                                           one["Link"]["MTU"] == 1400})
        finally:
            watching.kill()
            watching.wait()
    finally:
        all_at_once("delete {}")


def case_ctl_usage():
    """bad usage is 64, with what there is"""
    for words, wanted in ((("lst",), 'did you mean "list"'), (("lst",), "list, status, check"),
                          (("--nagios", "list"), "--nagios: with check only"),
                          (("list", "x"), "one word too many"), (("wait",), "expected PEER"),
                          (("--json=xml",), "off, short or pretty"), (("--frob",), "--frob"),
                          (("wait", "a", "--timeout=soon"), "expected a time"),
                          (("check", "--timeout=1s"), "--timeout: with wait only")):
        said = ctl(*words, status=64)
        expect(wanted in said, f"no {wanted!r} in {said}")
    for option in ("--help", "--version"):
        expect(ctl(option).startswith(CTL), option)
    shown = ctl("--help")
    expect(max(map(len, shown.splitlines())) <= 90, shown)


def case_ctl_unable():
    """no daemon, no bus: said in words, exit 3"""
    service_watching()
    run("systemctl", "mask", "--runtime", UNIT)
    run("systemctl", "stop", UNIT)
    try:
        for verb in (("list",), ("check",), ("status", "san"), ("monitor",), ("reload",)):
            said = ctl(*verb, status=3)
            expect("mtuwatchd is not running: systemctl enable --now mtuwatchd" in said, said)
        said = ctl("check", "--nagios", status=3)
        expect(said.startswith("MTU UNKNOWN - mtuwatchd is not running"), said)
        said = ctl("wait", "san", "--timeout=1s", status=3)
        expect("mtuwatchd is not running" in said, said)
    finally:
        run("systemctl", "unmask", "--runtime", UNIT)
    said = ctl("list", env={"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent"}, status=3)
    expect("there is no system bus" in said, said)


def case_ctl_other_host():
    """-H asks by ssh"""
    for program in ("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"):
        if not os.path.exists(program):
            raise Skip(f"not installed: {program}")
    service_watching()
    os.makedirs("/run/sshd", exist_ok=True)
    # made by the package's installation, which this may not have been
    file_write("/run/sysusers.d/sshd.conf", "u sshd - - /run/sshd\n")
    run("systemd-sysusers", "/run/sysusers.d/sshd.conf")
    os.makedirs("/root/.ssh", mode=0o700, exist_ok=True)
    for path in ("/run/ctl-key", "/run/ctl-host"):
        if not os.path.exists(path):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
    with open("/run/ctl-key.pub", encoding="ascii") as key:
        file_write("/run/ctl-authorized", key.read())
    file_write("/root/.ssh/config", "Host ctl-test\nHostname 127.0.0.1\nPort 2222\nUser root\n"
               "IdentityFile /run/ctl-key\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
               "LogLevel ERROR\n")
    server = subprocess.Popen(["/usr/sbin/sshd", "-f", "/dev/null", "-D", "-p", "2222", "-h",
                               "/run/ctl-host", "-o", "AuthorizedKeysFile=/run/ctl-authorized",
                               "-o", "UsePAM=no", "-o", "StrictModes=no", "-o",
                               "PermitRootLogin=yes"])
    try:
        wait_for("sshd", lambda: "2222" in run("ss", "-Hlnt"))
        expect("consistent" in ctl("-H", "ctl-test", "list"), "list by ssh")
        expect("consistent" in ctl("--host=ctl-test", "check", "san"), "check by ssh")
        said = ctl("-H", "no-such-host.invalid", "list", status=3)
        expect("the other host's bus cannot be reached" in said, said)
    finally:
        server.terminate()
        server.wait()


MOUNT_UNIT = """\
[Unit]
Requires=mtuwatchd-wait@san.service
After=mtuwatchd-wait@san.service
[Mount]
What=tmpfs
Where=/srv/proven
Type=tmpfs
"""


def case_wait_unit():
    """a mount ordered after mtuwatchd-wait@san comes over a proven path only"""
    service_watching()
    file_write("/run/systemd/system/srv-proven.mount", MOUNT_UNIT)
    file_write("/run/systemd/system/mtuwatchd-wait@.service.d/test.conf",
               f"[Service]\nExecStart=\nExecStart={shutil.which(CTL)} wait --timeout=3s %i\n")
    run("systemctl", "daemon-reload")
    run("systemd-analyze", "verify", "mtuwatchd-wait@san.service")
    black_hole()
    failed = subprocess.run(["systemctl", "start", "srv-proven.mount"], capture_output=True,
                            text=True, timeout=60, check=False)
    expect(failed.returncode != 0 and "ependency" in failed.stderr, failed)
    expect(not os.path.ismount("/srv/proven"), "it was mounted over a black hole")
    said = run("journalctl", "-q", "-u", "mtuwatchd-wait@san.service", "-o", "cat")
    expect("peer san (192.0.2.10) by eth1: black-hole" in said, said)
    # as shipped, with its own sandbox and time: the path is mended meanwhile
    os.unlink("/run/systemd/system/mtuwatchd-wait@.service.d/test.conf")
    run("systemctl", "daemon-reload")
    starting = subprocess.Popen(["systemctl", "start", "srv-proven.mount"])
    try:
        wait_for("the wait", lambda: run("systemctl", "show", "--value", "-p", "ActiveState",
                                         "mtuwatchd-wait@san.service").strip() == "activating")
        expect(not os.path.ismount("/srv/proven"), "it was mounted over a black hole")
        switch_port_set(LINK_MTU)
        expect_equal("exit status of the mount", starting.wait(60), 0)
        expect(os.path.ismount("/srv/proven"), "it is not mounted")
    finally:
        starting.kill()
        run("systemctl", "stop", "srv-proven.mount", "mtuwatchd-wait@san.service")
    run("systemd-analyze", "security", "--no-pager", "--threshold=30", "mtuwatchd-wait@san.service")


FOLDER = "/var/lib/prometheus/node-exporter"
METRICS = f"{FOLDER}/mtuwatchd.prom"


def metrics():
    try:
        with open(METRICS, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def case_metrics():
    """MetricsFile= within the sandbox: there, for everybody, right; gone after a clean stop"""
    os.makedirs(FOLDER, exist_ok=True)
    # as the manual says
    shutil.chown(FOLDER, group="mtuwatchd")
    os.chmod(FOLDER, 0o775)
    service_fresh(BASE_CONFIG.replace("[Daemon]\n", f"[Daemon]\nMetricsFile={METRICS}\n"))
    wait_for("san in the metrics", lambda: 'peer="san",address="192.0.2.10",interface="eth1",'
             'verdict="consistent"} 1\n' in metrics(), 30)
    status = os.stat(METRICS)
    expect_equal("owner and mode", (status.st_uid, status.st_mode & 0o7777),
                 (pwd.getpwnam("mtuwatchd").pw_uid, 0o644))
    expect_equal("files", os.listdir(FOLDER), ["mtuwatchd.prom"])
    black_hole()
    wait_for("the fault in the metrics", lambda: 'verdict="black-hole"} 1\n' in metrics() and
             'direction="forward"} 1500\n' in metrics())
    if shutil.which("promtool"):
        checked = subprocess.run(["promtool", "check", "metrics"], input=metrics(), text=True,
                                 capture_output=True, check=False)
        expect(checked.returncode == 0, checked)
    run("systemctl", "stop", UNIT)
    unit_wait("inactive")
    expect_equal("files after a stop", os.listdir(FOLDER), [])
    # a folder it may not write to: it watches all the same
    shutil.chown(FOLDER, group="root")
    run("systemctl", "start", UNIT)
    wait_for("san measured", lambda: peer_property("san", "Rounds") > 0)
    said = wait_for("the complaint", lambda: [line for line in run(
        "journalctl", "-q", "-u", UNIT, "-b", "-o", "cat").splitlines() if METRICS in line])
    expect("cannot be written" in said[-1], said)


CASES = (case_ctl_list, case_ctl_status, case_ctl_check, case_ctl_probe, case_ctl_links,
         case_ctl_wait, case_ctl_monitor, case_ctl_monitor_storm, case_ctl_manage, case_ctl_usage,
         case_ctl_unheard, case_ctl_unable, case_ctl_other_host, case_wait_unit, case_metrics)
