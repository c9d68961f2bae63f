# SPDX-License-Identifier: LGPL-2.1-or-later
"""The recipes of mtuwatchd-alerts(7) for the journal and for units: what is run here was read out of
the page that is installed. What programs their packages' scripts would have set up is set up here."""

import contextlib
import functools
import os
import re
import shutil
import subprocess
import threading

import recipes
from world import (BASE_CONFIG, LINK_MTU, UNIT, Skip, expect, expect_equal, file_write,
                   journal_all, journal_mark, journal_wait, peer_property, run, service_fresh,
                   switch_port_set, unit_property, wait_for)

CTL = "mtuwatchctl"
CONFIG = BASE_CONFIG.replace("[Peer san]", "[Peer san-a]")
WORSE = "73cab60773f446e384d84a4a64470529"
BETTER = "288cb450cd8a4c69b461c273f9ae708a"
UNITS = "A UNIT FOR EACH MISMATCH"
MAILS = "/run/mails"
# What the page's mail program hands its mails to.
SENDMAIL = """\
#!/usr/bin/python3
import os, sys, time
os.makedirs("/run/mails", exist_ok=True)
path = f"/run/mails/{time.monotonic_ns()}"
with open(path + ".new", "w") as file:
    file.write(sys.stdin.read())
os.rename(path + ".new", path)
"""
HOSTILE = "$(touch /run/pwned) -x `touch /run/pwned` '\" ${HOME}/%H;a"


def prefix():
    return os.path.dirname(os.path.dirname(shutil.which(CTL)))


@functools.cache
def page():
    return recipes.Page(f"{prefix()}/share/man/man7/mtuwatchd-alerts.7")


def installed(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"neither installed nor to be had: {program}")


def files_install(*paths, **changed):
    """These files of the page; what is changed is times alone."""
    for path in paths:
        text = page().files[path]
        for key, value in changed.items():
            text, count = re.subn(rf"^{key}=.*", f"{key}={value}", text, flags=re.M)
            expect(count, f"{path} has no {key}=")
        file_write(path, text)


def shell(text, **options):
    """What a block printed; it has to work."""
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=90, check=False, **options)
    expect(done.returncode == 0, f"{text}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def commands(section):
    return page().commands[section]


def watching():
    """A fresh service whose peer has the name of the page's, over a healthy path."""
    service_fresh(CONFIG)
    wait_for("san-a consistent", lambda: peer_property("san-a", "Verdict") == "consistent")


def break_path():
    mark = journal_mark()
    switch_port_set(1500)
    return journal_wait(mark, "the fault in the journal", MESSAGE_ID=WORSE,
                        MTUWATCH_VERDICT="black-hole")


def mend_path():
    mark = journal_mark()
    switch_port_set(LINK_MTU)
    return journal_wait(mark, "the recovery", MESSAGE_ID=BETTER, MTUWATCH_VERDICT="consistent")


@contextlib.contextmanager
def output_of(text):
    """Lines of a block that goes on until it is ended, as they come."""
    lines = []
    with subprocess.Popen(["bash", "-c", text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, start_new_session=True) as process:
        def read():
            for line in process.stdout:
                lines.append(line)
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            yield lines
        finally:
            os.killpg(process.pid, 15)


# Lives until it is told that its record is there: journald looks at who wrote it.
FORGE = """
import os, socket, sys
record = b""
for word in sys.argv[2:]:
    key, _, value = word.encode().partition(b"=")
    record += key + b"\\n" + len(value).to_bytes(8, "little") + value + b"\\n"
for folder in filter(None, sys.argv[1].split(":")):
    with open(f"{folder}/cgroup.procs", "w") as processes:
        processes.write(str(os.getpid()))
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(record, "/run/systemd/journal/socket")
sys.stdin.read()
"""


def daemon_groups():
    """The service's control group: to journald a process in it is the service."""
    group = unit_property("ControlGroup")
    folders = (f"/sys/fs/cgroup{kind}{group}" for kind in ("", "/systemd", "/unified"))
    return ":".join(filter(os.path.isdir, folders))


def record_write(peer, groups="", prefix=()):
    """A record of a mismatch that no daemon has seen."""
    mark = journal_mark()
    words = ["MESSAGE=a record of the test", f"MESSAGE_ID={WORSE}", "PRIORITY=3",
             "MTUWATCH_SEVERITY=critical", "MTUWATCH_VERDICT=black-hole", f"MTUWATCH_PEER={peer}"]
    with subprocess.Popen([*prefix, "python3", "-c", FORGE, groups, *words],
                          stdin=subprocess.PIPE) as writer:
        record = wait_for("the record", lambda: next(
            (one for one in journal_all(mark) if one.get("MTUWATCH_PEER") == peer), None))
        writer.stdin.close()
    expect_equal("whose it is", record.get("_SYSTEMD_UNIT") == UNIT, bool(groups))
    return record


NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")


def case_recipes_printed():
    """recipes: as they are printed so they are copied, and every message of the catalog is among them"""
    with open("/usr/lib/systemd/catalog/mtuwatchd.catalog", encoding="utf-8") as catalog:
        ids = {line.split()[1] for line in catalog if line.startswith("-- ")}
    table = dict(line.split("  ", 1) for line in commands("MESSAGES")[0].splitlines())
    expect_equal("messages", set(table), ids)
    used = set(re.findall(r"MESSAGE_ID=(\S+)", "".join(page().blocks)))
    expect_equal("messages asked for", used - ids, set())
    expect_equal("worse", table[WORSE], "a verdict became worse")
    if not shutil.which("man"):
        raise Skip("not installed: man")
    shown = run("env", "MANWIDTH=80", "LC_ALL=C.UTF-8", "MANPAGER=cat", "man", "-l",
                f"{prefix()}/share/man/man7/mtuwatchd-alerts.7")
    missing = [block for block in page().blocks if block not in shown]
    expect(not missing, f"not as written: {missing}")


def journal_answers():
    """What journalctl is asked, it answers, and a forged record is in no answer."""
    worse, critical, peer, table, _follow = commands("JOURNAL")
    said = shell(worse)
    expect("black-hole" in said and "Subject: The path to san-a became worse" in said, said)
    for block in (critical, peer):
        expect("black-hole" in shell(block), block)
    expect(re.search(r"^\d{4}-\d\d-\d\dT\S+Z\tsan-a\teth1\tconsistent\tblack-hole\t1500$",
                     shell(table), re.M), shell(table))
    expect("a record of the test" in run("journalctl", "-q", "MTUWATCH_PEER=forged"), "no forgery")
    for block in (worse, critical, peer, table):
        expect("a record of the test" not in shell(block) and "forged" not in shell(block), block)


def mail_prepare():
    """The page's mail program, as Debian's alternatives name it, and where its mails end up."""
    if not shutil.which("mail"):
        installed("bsd-mailx")
        os.symlink("bsd-mailx", "/usr/bin/mail")
    with contextlib.suppress(FileNotFoundError):
        os.unlink("/usr/sbin/sendmail")
    file_write("/usr/sbin/sendmail", SENDMAIL)
    os.chmod("/usr/sbin/sendmail", 0o755)
    shutil.rmtree(MAILS, ignore_errors=True)


def mails():
    """Their subjects, in order, once each is whole."""
    texts = []
    for name in sorted(os.listdir(MAILS)) if os.path.isdir(MAILS) else ():
        if not name.endswith(".new"):
            with open(os.path.join(MAILS, name), encoding="utf-8") as file:
                texts.append(file.read())
    return [re.search(r"^Subject: (.*(?:\n .*)*)", text, re.M).group(1).replace("\n", "")
            for text in texts], texts


def place():
    """The cursor of the last record that was dealt with."""
    with open("/var/lib/mtu-alerts/cursor", encoding="ascii") as file:
        return file.read().strip()


def dealt_with(record):
    wait_for("the record to be dealt with", lambda: place() == record["__CURSOR"], 30)


def units_start():
    files_install(*(path for path in page().files
                    if re.search(r"/mtu-(alerts|mismatch@|recovered@)[^/]*$", path)))
    shell(commands(UNITS)[0])
    wait_for("its place", lambda: os.path.exists("/var/lib/mtu-alerts/cursor"))


def units_stop():
    subprocess.run(["systemctl", "disable", "--now", "mtu-alerts.service"], check=False,
                   stderr=subprocess.DEVNULL)
    shutil.rmtree("/var/lib/mtu-alerts", ignore_errors=True)


def case_recipes_journal():
    """recipes: the journal's answers; a unit for each mismatch, none lost or twice over a stop and a kill"""
    installed("jq")
    mail_prepare()
    watching()
    try:
        units_start()
        run("systemd-analyze", "verify", "mtu-alerts.service", "mtu-mismatch@san.service",
            "mtu-recovered@san.service")
        run("systemctl", "stop", "mtu-alerts.service")
        with output_of(commands("JOURNAL")[-1]) as lines:
            record_write("forged", prefix=NOBODY)
            worse = break_path()
            wait_for("the fault, as it comes", lambda: lines)
        expect(lines[0].startswith("critical: peer san-a (192.0.2.10) by eth1: black-hole: "), lines)
        run("systemctl", "start", "mtu-alerts.service")
        dealt_with(worse)
        run("systemctl", "kill", "--signal=KILL", "mtu-alerts.service")
        dealt_with(mend_path())
        journal_answers()
        names_taken()
        subjects, texts = mails()
        expect_equal("mails", subjects, ["MTU mismatch: san-a", "MTU recovered: san-a",
                                         f"MTU mismatch: {HOSTILE}"])
        expect("Passes: 1500 of 9000" in texts[0], texts[0])
    finally:
        units_stop()


def names_taken():
    """A name is a name, whatever it is made of; one that no unit can have holds up nothing."""
    mark = journal_mark()
    record_write("x" * 300, daemon_groups())
    dealt_with(record_write(HOSTILE, daemon_groups()))
    expect(not os.path.exists("/run/pwned"), "a name was run by a shell")
    said = [str(record.get("MESSAGE")) for record in journal_all(mark)]
    expect(any(text.startswith("nothing was started for xxx") for text in said), said)


CASES = (case_recipes_printed, case_recipes_journal)
