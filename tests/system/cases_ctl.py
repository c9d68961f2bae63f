# SPDX-License-Identifier: LGPL-2.1-or-later
"""mtuwatchctl, the unit that waits, the completions and the metrics, on a booted systemd."""

import contextlib
import fcntl
import json
import os
import pty
import pwd
import re
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time

from world import (BASE_CONFIG, CONFIG, LINK_MTU, UNIT, Skip, bus_call, expect,
                   expect_equal, file_write, peer_property, run, service_fresh, service_watching,
                   switch_port_set, unit_pid, unit_property, unit_wait, wait_for)

CTL = "mtuwatchctl"
NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
ABSENT = "\n[Peer absent]\nAddress=192.0.2.99\n"
SLOW = "Timeout=1s\nTries=5\nInterval=1h\n"
LONG = "\n[Peer a-peer-with-a-name-of-forty-characters-1]\nAddress=192.0.2.11\n"
CODES = "\033\\[[0-9;?]*[A-Za-z]"


def ctl(*arguments, status=0, prefix=(), env=None):
    """What it printed; its exit status has to be this one."""
    done = subprocess.run([*prefix, CTL, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=150, check=False, env={**os.environ, **(env or {})})
    expect(done.returncode == status, f"{CTL} {' '.join(arguments)}: exit {done.returncode}, not "
           f"{status}: {done.stdout}{done.stderr}")
    return done.stdout if status in (0, 1, 2) and done.stdout else done.stdout + done.stderr


def document(*arguments, status=0):
    return json.loads(ctl("--json=short", *arguments, status=status))


def on_terminal(width, *arguments, env=None):
    """What it draws on a terminal of this width, colours and all."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    settings = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    child = subprocess.Popen([CTL, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
                             env={**settings, "TERM": "xterm", **(env or {})},
                             start_new_session=True)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(ours, 65536):
            seen += chunk
    os.close(ours)
    child.wait(60)
    return seen.decode().replace("\r\n", "\n")


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
    for wanted in ("san (configured)", "Path: 192.0.2.10 by eth1 from 192.0.2.1",
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
    clamps = subprocess.run([CTL, "release"], capture_output=True, text=True, check=False)
    expect(clamps.returncode == 0 or
           (clamps.returncode == 3 and "cannot do that" in clamps.stderr), clamps)


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


def screen_check(width, *verb):
    """No line is wider than the screen, and no word is cut that has to be typed again."""
    drawn = on_terminal(width, "--no-pager", *verb)
    plain = re.sub(CODES, "", drawn)
    for line in plain.splitlines():
        expect(len(line) <= width, f"{len(line)} columns of {width} in {verb}: {line!r}")
    return drawn, plain


def case_ctl_screens():
    """screens of 80 and 120 columns hold every line; colours on a terminal alone, and NO_COLOR"""
    # what is sent there vanishes, so that it takes its time
    run("ip", "neigh", "replace", "192.0.2.99", "lladdr", "02:00:00:00:00:99", "dev", "eth1")
    service_fresh(BASE_CONFIG + LONG + ABSENT + SLOW)
    black_hole()
    wait_for("all verdicts", lambda: all(one["Verdict"] in ("black-hole", "unreachable")
                                         for one in document("list")["Peers"]), 60)
    for width in (120, 80, 60):
        for verb in (("list",), ("status",), ("status", "san", "eth1"), ("links",)):
            drawn, plain = screen_check(width, *verb)
            expect("\033[" in drawn, f"no colour in {verb} on a terminal")
            expect("\033[" not in ctl(*verb, status=2 if verb[0] == "status" else 0),
                   f"colour in {verb} in a pipe")
    drawn, plain = screen_check(80, "list")
    print(*(f"# {line}" for line in plain.splitlines()), sep="\n", flush=True)
    expect("\033[1;31mblack-hole" in drawn, drawn)
    # the long name is there, on two lines
    first = re.search(r"^(a-peer-with\S*) .*\n(\S+)", plain, re.M)
    expect(first and first.group(1) + first.group(2) == LONG.split()[1].rstrip("]"), plain)
    expect("on-link" in plain, plain)
    expect("\033[" not in on_terminal(80, "--no-pager", env={"NO_COLOR": "1"}), "NO_COLOR is ignored")
    # long work says that it goes on, and leaves nothing behind; a result of just now takes no time
    drawn = wait_for("a progress line", lambda: "checking" in (
        seen := on_terminal(80, "check", "absent")) and seen)
    expect("\rchecking" in re.sub(CODES, "", drawn), drawn)
    expect("checking" not in drawn.split("\033[K")[-1], drawn)


def case_ctl_paged():
    """on a terminal the pager gets it; its leaving early is no error"""
    service_watching()
    mark = "/run/paged"
    env = {"SYSTEMD_PAGER": f"tee {mark}"}
    expect("consistent" in on_terminal(80, "list", env=env), "nothing was shown")
    with open(mark, encoding="utf-8") as paged:
        expect("consistent" in paged.read(), "the pager got nothing")
    os.unlink(mark)
    on_terminal(80, "list", "--no-pager", env=env)
    expect(not os.path.exists(mark), "--no-pager was ignored")
    on_terminal(80, "list", env={"SYSTEMD_PAGER": "true"})


def case_ctl_other_host():
    """-H asks by ssh"""
    for program in ("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"):
        if not os.path.exists(program):
            raise Skip(f"not installed: {program}")
    service_watching()
    os.makedirs("/run/sshd", exist_ok=True)
    os.makedirs("/root/.ssh", mode=0o700, exist_ok=True)
    for path in ("/run/ctl-key", "/run/ctl-host"):
        if not os.path.exists(path):
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
    with open("/run/ctl-key.pub", encoding="ascii") as key:
        file_write("/run/ctl-authorized", key.read())
    file_write("/root/.ssh/config", "Host ctl-test\nHostname 127.0.0.1\nPort 2222\nUser root\n"
               "IdentityFile /run/ctl-key\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n"
               "LogLevel ERROR\n")
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-p", "2222", "-h", "/run/ctl-host", "-o",
                               "AuthorizedKeysFile=/run/ctl-authorized", "-o", "UsePAM=no", "-o",
                               "StrictModes=no", "-o", "PermitRootLogin=yes"])
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


def case_completions():
    """bash, zsh and fish offer the verbs, and the names of peers and links that there are"""
    service_watching()
    offered = 0
    if shutil.which("fish"):
        offered += 1
        for line, wanted in (("mtuwatchctl che", "check"), ("mtuwatchctl check s", "san"),
                             ("mtuwatchctl status e", "eth1"),
                             ("mtuwatchctl probe --method t", "tcp")):
            seen = run("env", "XDG_DATA_DIRS=/usr/local/share:/usr/share", "fish", "-c",
                       f"complete -C '{line}'")
            expect(wanted in [one.split("\t")[0] for one in seen.splitlines()], f"{line}: {seen}")
    if os.path.exists("/usr/share/bash-completion/bash_completion"):
        offered += 1
        for words, wanted in (("mtuwatchctl che", "check"), ("mtuwatchctl check s", "san"),
                              ("mtuwatchctl status e", "eth1"), ("mtuwatchctl -H db wait s", "san"),
                              ("mtuwatchctl check --na", "--nagios")):
            seen = run("bash", "-c", f"""
                . /usr/share/bash-completion/bash_completion
                _completion_loader mtuwatchctl
                COMP_LINE='{words}' COMP_POINT={len(words)} COMP_WORDS=({words})
                COMP_CWORD={len(words.split()) - 1}
                _mtuwatchctl; printf '%s\\n' "${{COMPREPLY[@]}}" """)
            expect(wanted in seen.split(), f"{words}: {seen}")
    if shutil.which("zsh"):
        offered += 1
        for words, wanted in (("mtuwatchctl che", "check"), ("mtuwatchctl check s", "san"),
                              ("mtuwatchctl status e", "eth1")):
            expect(wanted in zsh_line(words), f"{words}: {zsh_line(words)!r}")
    if offered == 0:
        raise Skip("not installed: bash-completion, fish, zsh")


def zsh_line(words):
    """The line after the tabulator key, in a real zsh on a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs,
                             env={**os.environ, "TERM": "dumb", "PS1": ""}, start_new_session=True)
    os.close(theirs)
    seen = ""
    try:
        os.write(ours, b"fpath+=({/usr,/usr/local}/share/zsh/site-functions); autoload -U compinit; "
                 b"compinit -u -D; PS1='rea''dy> '\n")
        end = time.monotonic() + 30
        sent = False
        while time.monotonic() < end and not (sent and re.search(r"\bdone\b", seen)):
            seen += os.read(ours, 4096).decode(errors="replace")
            if not sent and "ready> " in seen:
                # what the line has become is echoed with the next words
                os.write(ours, f"echo {words}\t".replace("echo ", "", 1).encode() + b" # done")
                sent, seen = True, ""
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    return re.sub(CODES, "", seen)


def case_ctl_manual():
    """every example in mtuwatchctl(1) is a command line that works"""
    service_fresh(BASE_CONFIG.replace("[Peer san]", "[Peer san-a]"))
    wait_for("san-a consistent", lambda: peer_property("san-a", "Verdict") == "consistent")
    prefix = os.path.dirname(os.path.dirname(shutil.which(CTL)))
    with open(f"{prefix}/share/man/man1/mtuwatchctl.1", encoding="utf-8") as page:
        examples = [line[2:].strip().replace("\\-", "-") for line in page if line.startswith("$ ")]
    expect(len(examples) >= 7, examples)
    for example in examples:
        words = re.split(r" [|&]", example)[0].split()
        expect_equal("program", words[0], CTL)
        if words[1:2] == ["measure"]:  # the lab has a server for it
            expect("iperf3" in ctl(*words[1:], status=3), example)
        elif "-H" not in words:  # case_ctl_other_host has a host
            ctl(*words[1:])


CASES = (case_ctl_list, case_ctl_status, case_ctl_check, case_ctl_probe, case_ctl_links,
         case_ctl_wait, case_ctl_monitor, case_ctl_manage, case_ctl_usage, case_ctl_unable, case_ctl_manual,
         case_ctl_screens, case_ctl_paged, case_ctl_other_host, case_wait_unit, case_metrics,
         case_completions)
