#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The cases, run as a service of a freshly booted systemd (see run.py). Speaks TAP."""

import os
import pwd
import signal
import socket
import subprocess
import sys
import traceback

import cables
import cases_ctl
import cases_explain
import cases_fleet
import cases_flood
import cases_monitoring
import cases_package
import cases_printed
import cases_recipes
import cases_sandbox
import cases_terminal
from world import (BASE_CONFIG, BUS, CONFIG, LINK_MTU, MANAGER, STORAGE_CONFIG, UNIT, BusMonitor,
                   Failure, Skip, bus_call, bus_error, bus_introspect, bus_name_owned, bus_property,
                   drop_in_clear, drop_in_set, expect, expect_equal, file_write, journal_about,
                   journal_all, journal_explained, journal_mark, journal_records, journal_wait,
                   journal_wait_text, need_fuse, network_make, peer_check, peer_names, peer_path,
                   peer_property, refused, run, service_fresh, service_watching, storage_mount,
                   switch_port_set, unit_pid, unit_property, unit_wait, wait_for)

CAPABILITIES_ALLOWED = 1 << 12 | 1 << 13  # CAP_NET_ADMIN, CAP_NET_RAW
EXIT_BAD_CONFIG = 78
SECOND_PEER = "\n[Peer san-b]\nAddress=192.0.2.11\n"
BAD_LINE = "Intervall=1s\n"
NOBODY = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")

MANAGER_MEMBERS = {"Check", "CheckAll", "ListPeers", "ListLinks", "Release", "Reload", "Describe", "Version",
                   "Verdict", "Severity", "Peers", "PeersFaulty", "Links", "LinksFaulty", "Clamped",
                   "VerdictChanged"}
PEER_MEMBERS = {"Name", "Address", "Origin", "Verdict", "Severity", "Reason", "Text",
                "Advice", "PathMTU", "ReturnMTU",
                "ExpectedMTU", "LinkMTU", "Interface", "Source", "Method", "Direction", "Locus",
                "Confirmed", "Router", "KernelMTU", "SocketMSS", "RTTUSec", "ClampMTU",
                "ClampKind", "ClampRefusal", "SinceUSec", "LastRoundUSec", "Rounds", "ProbesSent", "ProbesLost",
                "Flows", "FlowsFaulty", "Findings", "Paths"}
LINK_MEMBERS = {"Name", "Index", "Kind", "MTU", "ExpectedMTU", "MinMTU", "MaxMTU", "OriginalMTU",
                "Overhead", "UnderlayIndex", "Up", "Neighbour", "NeighbourMaxFrame", "Severity", "Findings"}


def case_enabled_and_started():
    """systemctl enable --now after meson install, nothing configured"""
    run("systemd-sysusers")
    run("journalctl", "--update-catalog")
    run("systemctl", "daemon-reload")
    run("systemctl", "enable", "--now", UNIT)
    expect_equal("ActiveState", unit_property("ActiveState"), "active")
    wait_for("a status text", lambda: unit_property("StatusText"))
    expect_equal("alias", run("systemctl", "is-enabled", "dbus-org.mtuwatch1.service").strip(),
                 "alias")
    wait_for("the name on the bus", bus_name_owned)


def case_few_privileges():
    """its own user, no capability beyond the two, no new privileges, a system call filter"""
    service_fresh()
    pid = unit_pid()
    with open(f"/proc/{pid}/status", encoding="ascii") as text:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in text)
    user = pwd.getpwnam("mtuwatchd")
    expect_equal("uids", set(status["Uid"].split()), {str(user.pw_uid)})
    expect_equal("gids", set(status["Gid"].split()), {str(user.pw_gid)})
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        excess = int(status[kind], 16) & ~CAPABILITIES_ALLOWED
        expect(not excess, f"{kind} holds {excess:#x} too much")
    expect_equal("NoNewPrivs", status["NoNewPrivs"], "1")
    expect_equal("Seccomp", status["Seccomp"], "2")


def case_sandbox_scored():
    """systemd-analyze security finds an exposure of at most 1.5"""
    run("systemd-analyze", "security", "--no-pager", "--threshold=15", UNIT)


def case_introspection():
    """busctl introspect shows the manager, a peer and a link with all their members"""
    service_watching()
    link = next(path for name, _mtu, path, _severity in bus_call("ListLinks")[0] if name == "eth1")
    for path, interface, wanted in (("/org/mtuwatch1", "org.mtuwatch1.Manager", MANAGER_MEMBERS),
                                    (peer_path("san"), "org.mtuwatch1.Peer", PEER_MEMBERS),
                                    (link, "org.mtuwatch1.Link", LINK_MEMBERS)):
        missing = wanted - bus_introspect(path, interface)
        expect(not missing, f"{interface} lacks {sorted(missing)}")
        run("busctl", "introspect", "--xml-interface", BUS, path)
    expect_equal("MTU of eth1", bus_property(link, "org.mtuwatch1.Link", "MTU"), LINK_MTU)


def case_healthy_path():
    """Check over a healthy path: consistent at the link's MTU"""
    service_watching()
    seen = peer_check("san")
    for key, wanted in {"Verdict": "consistent", "PathMTU": LINK_MTU, "ExpectedMTU": LINK_MTU,
                        "LinkMTU": LINK_MTU, "Interface": "eth1", "Address": "192.0.2.10",
                        "Severity": "ok", "Origin": "config"}.items():
        expect_equal(key, seen.get(key), wanted)


SERVER = '''
import socket
with socket.create_server(("192.0.2.10", 2049)) as listener:
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.recv(1)
'''


def case_connections_seen():
    """a TCP connection of another user is seen from inside the sandbox"""
    service_watching()
    expect_equal("SocketMSS", peer_property("san", "SocketMSS"), 0)
    with subprocess.Popen(["ip", "netns", "exec", "san", "python3", "-c", SERVER],
                          stdout=subprocess.PIPE, text=True) as server:
        try:
            expect_equal("the server", server.stdout.readline(), "ready\n")
            with socket.create_connection(("192.0.2.10", 2049)):
                wait_for("its MSS", lambda: peer_property("san", "SocketMSS") == LINK_MTU - 52)
            wait_for("its end", lambda: peer_property("san", "SocketMSS") == 0)
        finally:
            server.terminate()


def record_expect(record, wanted):
    for field, value in wanted.items():
        expect_equal(field, record.get(field), value)
    expect(record.get("MESSAGE_ID"), "the record has no MESSAGE_ID")
    for field in ("MTUWATCH_SEVERITY", "MTUWATCH_CONFIRMED"):
        expect(record.get(field), f"the record has no {field}")


def case_black_hole_and_back():
    """a switch port lowered and restored: bus, signal, journal, catalog"""
    service_watching()
    mark = journal_mark()
    rule = "type='signal',interface='org.mtuwatch1.Manager',member='VerdictChanged'"
    with BusMonitor(rule) as signals:
        switch_port_set(1500)
        seen = wait_for("Check says black-hole",
                        lambda: (found := peer_check("san"))["Verdict"] == "black-hole" and found,
                        40)
        expect_equal("PathMTU", seen["PathMTU"], 1500)
        expect_equal("ExpectedMTU", seen["ExpectedMTU"], LINK_MTU)
        record = journal_wait(mark, "the fault in the journal", MTUWATCH_VERDICT="black-hole")
        wait_for("the signal", lambda: signals.messages)
        expect_equal("the signal", signals.messages[0]["payload"]["data"][0], "san")
    common = {"MTUWATCH_PEER": "san", "MTUWATCH_ADDRESS": "192.0.2.10", "MTUWATCH_LINK": "eth1",
              "MTUWATCH_EXPECTED_MTU": str(LINK_MTU), "MTUWATCH_LINK_MTU": str(LINK_MTU),
              "MTUWATCH_METHOD": "icmp", "SYSLOG_IDENTIFIER": "mtuwatchd"}
    record_expect(record, common | {"MTUWATCH_VERDICT_BEFORE": "consistent",
                                    "MTUWATCH_PATH_MTU": "1500",
                                    # The peer's closed ports bear out what echo found.
                                    "MTUWATCH_DIRECTION": "forward", "MTUWATCH_CONFIRMED": "yes",
                                    "MTUWATCH_SEVERITY": "critical",
                                    "MTUWATCH_LOCUS": "on-link"})
    expect("1500" in record["MESSAGE"] and "san" in record["MESSAGE"], record["MESSAGE"])
    expect_equal("PRIORITY", record["PRIORITY"],
                 {"critical": "3", "warning": "4"}[record["MTUWATCH_SEVERITY"]])
    explained = journal_explained(record)
    expect("Subject:" in explained, f"the catalog has no entry: {explained}")
    expect_equal("the manager's verdict", bus_property(*MANAGER[1:], "Verdict"), "black-hole")

    mark = journal_mark()
    switch_port_set(LINK_MTU)
    recovered = journal_wait(mark, "the recovery in the journal", MTUWATCH_VERDICT="consistent")
    record_expect(recovered, common | {"MTUWATCH_VERDICT_BEFORE": "black-hole",
                                       "MTUWATCH_PATH_MTU": str(LINK_MTU), "PRIORITY": "6"})
    expect(recovered["MESSAGE_ID"] != record["MESSAGE_ID"], "fault and recovery share an id")
    expect("Subject:" in journal_explained(recovered), "the catalog has no entry for a recovery")


def case_quiet_network_quiet_journal():
    """rounds that change nothing log nothing"""
    service_watching()
    mark = journal_mark()
    rounds = peer_property("san", "Rounds")
    wait_for("five more rounds", lambda: peer_property("san", "Rounds") >= rounds + 5, 30)
    spoken = [record["MESSAGE"] for record in journal_records(mark)]
    expect(not spoken, f"the journal has {spoken}")


def case_reload_good():
    """SIGHUP with a good file: the new peer is there, the old one keeps what is known"""
    service_watching()
    rounds = peer_property("san", "Rounds")
    pid = unit_pid()
    file_write(CONFIG, BASE_CONFIG + SECOND_PEER)
    run("systemctl", "reload", UNIT)
    wait_for("san-b consistent", lambda: peer_property("san-b", "Verdict") == "consistent")
    expect(peer_property("san", "Rounds") >= rounds, "san lost what was known of it")
    expect_equal("main process", unit_pid(), pid)
    file_write(CONFIG, BASE_CONFIG)
    expect_equal("Reload over the bus", bus_call("Reload"), None)
    expect_equal("peers", peer_names(), ["san"])


def case_reload_bad():
    """a bad file at reload: refused with file and line, the running configuration stays"""
    service_watching()
    pid = unit_pid()
    mark = journal_mark()
    lines = (BASE_CONFIG + SECOND_PEER + BAD_LINE).count("\n")
    file_write(CONFIG, BASE_CONFIG + SECOND_PEER + BAD_LINE)
    place = f"{CONFIG}:{lines}"
    os.kill(pid, signal.SIGHUP)
    record = journal_wait_text(mark, place)
    expect(record.get("MESSAGE_ID"), "the refusal has no MESSAGE_ID")
    expect("Subject:" in journal_explained(record), "the catalog has no entry for a refusal")
    complaint = bus_error("Reload")
    expect("org.mtuwatch1.BadConfig" in complaint and place in complaint, complaint)
    expect_equal("peers", peer_names(), ["san"])
    expect_equal("main process", unit_pid(), pid)
    wait_for("active again", lambda: unit_property("ActiveState") == "active")


def case_named_errors():
    """an unknown peer is refused by name"""
    service_watching()
    complaint = bus_error("Check", "string:nobody-knows-it")
    expect("org.mtuwatch1.NoSuchPeer" in complaint, complaint)


def case_unprivileged():
    """everyone may read, not everyone may check"""
    service_watching()
    run(*NOBODY, "busctl", "call", *MANAGER, "ListPeers")
    run(*NOBODY, "busctl", "get-property", BUS, peer_path("san"), "org.mtuwatch1.Peer", "PathMTU")
    for method in (("Check", "s", "san"), ("CheckAll",), ("Reload",)):
        complaint = refused(*NOBODY, "busctl", "call", *MANAGER, *method)
        # polkit's own answer, not the lack of one
        expect("a password has to be asked for" in complaint, complaint)


def case_log_level():
    """systemctl service-log-level reads and sets"""
    service_watching()
    run("systemctl", "service-log-level", UNIT, "debug")
    expect_equal("log level", run("systemctl", "service-log-level", UNIT).strip(), "debug")


def case_killed():
    """kill -9: started again, and right again"""
    service_watching()
    pid = unit_pid()
    os.kill(pid, signal.SIGKILL)
    wait_for("another main process",
             lambda: unit_property("ActiveState") == "active" and unit_pid() != pid, 30)
    wait_for("san consistent", lambda: peer_property("san", "Verdict") == "consistent")


def case_watchdog():
    """a daemon that hangs is ended and started again"""
    drop_in_set("[Service]\nWatchdogSec=1s\nRestartSec=100ms\nTimeoutAbortSec=2s\n")
    try:
        service_watching()
        pid = unit_pid()
        mark = journal_mark()
        os.kill(pid, signal.SIGSTOP)
        wait_for("another main process",
                 lambda: unit_property("ActiveState") == "active" and unit_pid() != pid, 30)
        said = [record["MESSAGE"] for record in journal_about(mark)]
        expect(any("Watchdog timeout" in message for message in said), said)
        wait_for("san consistent", lambda: peer_property("san", "Verdict") == "consistent")
    finally:
        drop_in_clear()


def case_bad_configuration_at_start():
    """a bad file at start: exit 78, file and line in the journal, no restart"""
    mark = journal_mark()
    file_write(CONFIG, BASE_CONFIG + BAD_LINE)
    refused("systemctl", "restart", UNIT)
    expect_equal("ActiveState", unit_property("ActiveState"), "failed")
    expect_equal("exit status", unit_property("ExecMainStatus"), str(EXIT_BAD_CONFIG))
    expect_equal("restarts", unit_property("NRestarts"), "0")
    place = f"{CONFIG}:{(BASE_CONFIG + BAD_LINE).count(chr(10))}"
    journal_wait_text(mark, place)


def case_activated():
    """a method call starts a stopped daemon"""
    service_watching()
    run("systemctl", "stop", UNIT)
    unit_wait("inactive")
    expect(not bus_name_owned(), "the name is still owned")
    expect_equal("peers", peer_names(), ["san"])
    unit_wait("active")


def case_stopped():
    """systemctl stop is a clean exit that leaves nothing"""
    service_watching()
    run("systemctl", "stop", UNIT)
    for name, wanted in {"ActiveState": "inactive", "Result": "success", "MainPID": "0",
                         "ExecMainStatus": "0"}.items():
        expect_equal(name, unit_property(name), wanted)
    expect(not bus_name_owned(), "the name is still owned")
    left = subprocess.run(["pgrep", "-u", "mtuwatchd"], stdout=subprocess.PIPE, check=False)
    expect(not left.stdout, f"processes left: {left.stdout!r}")
    expect(not os.path.exists("/run/mtuwatchd"), "/run/mtuwatchd is left")


def case_journald_restarted():
    """journald restarted: the daemon lives on and the next fault is in the journal"""
    service_watching()
    pid = unit_pid()
    run("systemctl", "restart", "systemd-journald.service")
    mark = wait_for("the journal", journal_mark)
    switch_port_set(1500)
    journal_wait(mark, "the fault in the journal", MTUWATCH_VERDICT="black-hole")
    expect_equal("main process", unit_pid(), pid)


def case_bus_restarted():
    """the bus stopped and started: the daemon watches on, and is back on the bus"""
    service_watching()
    pid = unit_pid()
    run("systemctl", "stop", "dbus.socket", "dbus.service")
    try:
        mark = journal_mark()
        switch_port_set(1500)
        journal_wait(mark, "the fault in the journal", MTUWATCH_VERDICT="black-hole")
        expect_equal("main process", unit_pid(), pid)
    finally:
        run("systemctl", "start", "dbus.socket", "dbus.service")
    wait_for("the name on the bus", bus_name_owned, 60)
    expect_equal("main process", unit_pid(), pid)
    expect_equal("verdict", peer_property("san", "Verdict"), "black-hole")


# Mounted after the service has started, and before it; below what its sandbox hides or makes its own.
STORAGE_PLACES = ("/mnt/volume", "/home/volume", "/root/volume", "/tmp/volume", "/var/tmp/volume",
                  "/run/volume")


def storage_peers():
    return [name for name in peer_names() if name.startswith("glusterfs-")]


def uevents_heard(pid):
    """Whether the process has a socket of NETLINK_KOBJECT_UEVENT (15)."""
    with open("/proc/net/netlink", encoding="ascii") as lines:
        inodes = {line.split()[9] for line in list(lines)[1:] if line.split()[1] == "15"}
    links = (os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd"))
    return any(link.strip("socket:[]") in inodes for link in links if link.startswith("socket:"))


def case_storage():
    """mounts of this host are seen from inside the sandbox, wherever they are and whenever they come"""
    need_fuse()
    service_fresh(STORAGE_CONFIG)
    for number, place in enumerate(STORAGE_PLACES, 10):
        storage_mount(f"192.0.2.{number}:/vol", place)
    # and so would devices be: their events come by netlink
    expect(uevents_heard(unit_pid()), "no socket for uevents")
    wanted = sorted(f"glusterfs-192.0.2.{n}" for n, _ in enumerate(STORAGE_PLACES, 10))
    try:
        wait_for("peers of all mounts", lambda: storage_peers() == wanted)
        wait_for("its verdict", lambda: peer_property("glusterfs-192.0.2.10", "Verdict")
                 == "consistent")
        expect_equal("Origin", peer_property("glusterfs-192.0.2.10", "Origin"), "glusterfs")
        run("systemctl", "restart", UNIT)
        unit_wait("active")
        wait_for("peers of the mounts that were there", lambda: storage_peers() == wanted)
    finally:
        mark = journal_mark()
        for place in STORAGE_PLACES:
            run("umount", "--lazy", place)
    wait_for("the peers to be retired", lambda: not storage_peers(), 60)
    journal_wait_text(mark, "peer glusterfs-192.0.2.10 is no longer watched")


def capabilities():
    with open(f"/proc/{unit_pid()}/status", encoding="ascii") as text:
        return int(next(line.split()[1] for line in text if line.startswith("CapPrm")), 16)


def clamp_shown():
    return "mtu lock 1500" in run("ip", "route", "show", "table", "all", "proto", "mtuwatchd")


def clamp_drop_in_set():
    found = [f"{prefix}/share/doc/mtuwatchd/clamp.conf" for prefix in ("/usr", "/usr/local")]
    with open(next(x for x in found if os.path.exists(x)), encoding="utf-8") as file:
        drop_in_set(file.read())


def main_process_killed():
    pid = unit_pid()
    os.kill(pid, signal.SIGKILL)
    wait_for("another main process",
             lambda: unit_property("ActiveState") == "active" and unit_pid() != pid, 30)


def case_clamped():
    """the drop-in: clamps by a route with our name, over kill -9 and stop, and --release undoes it"""
    clamp_drop_in_set()
    try:
        service_fresh(BASE_CONFIG)
        expect_equal("the capability without Clamp=", capabilities() >> 12 & 1, 0)
        run("systemd-analyze", "security", "--no-pager", "--threshold=17", UNIT)
        service_fresh(BASE_CONFIG + "Clamp=route\n")
        expect_equal("the capability with Clamp=", capabilities() >> 12 & 1, 1)
        mark = journal_mark()
        switch_port_set(1500)
        wait_for("the clamp", clamp_shown, 40)
        record = journal_wait(mark, "the clamp in the journal", MTUWATCH_CLAMP_MTU="1500")
        expect("Subject:" in journal_explained(record), "the catalog has no entry for a clamp")
        complaint = refused(*NOBODY, "busctl", "call", *MANAGER, "Release", "s", "")
        expect("a password has to be asked for" in complaint, complaint)
        main_process_killed()
        wait_for("the clamp, taken over", lambda: peer_property("san", "ClampMTU") == 1500)
        bus_call("Release", "s", "san")
        expect(not clamp_shown(), "Release left it")
        run("systemctl", "restart", UNIT)
        wait_for("the clamp again", clamp_shown, 40)
        run("systemctl", "stop", UNIT)
        expect(clamp_shown(), "a stop took it off")
        run("mtuwatchd", "--release")
        expect(not clamp_shown(), "--release left it")
        run("ip", "route", "flush", "table", "all", "proto", "mtuwatchd")
    finally:
        switch_port_set(LINK_MTU)
        drop_in_clear()


def link_mtu():
    with open("/sys/class/net/eth1/mtu", encoding="ascii") as text:
        return int(text.read())


def case_link_clamped():
    """the drop-in: a link clamped in the sandbox, its record kept over kill -9 and stop"""
    clamp_drop_in_set()
    try:
        service_fresh(BASE_CONFIG + "Clamp=link\n")
        switch_port_set(1500)
        wait_for("the clamp", lambda: link_mtu() == 1500, 40)
        wait_for("its kind", lambda: peer_property("san", "ClampKind") == "link")
        records = os.listdir("/run/mtuwatchd/clamp")
        expect_equal("records", len(records), 1)
        expect_equal("whose folder configuration may be in", os.stat("/run/mtuwatchd").st_uid, 0)
        main_process_killed()
        wait_for("the clamp, taken over", lambda: peer_property("san", "ClampKind") == "link")
        expect_equal("records", os.listdir("/run/mtuwatchd/clamp"), records)
        bus_call("Release", "s", "")
        expect_equal("the MTU after Release", link_mtu(), LINK_MTU)
        run("systemctl", "restart", UNIT)
        wait_for("the clamp again", lambda: link_mtu() == 1500, 40)
        run("systemctl", "stop", UNIT)
        expect_equal("the MTU after a stop", link_mtu(), 1500)
        run("mtuwatchd", "--release")
        expect_equal("the MTU after --release", link_mtu(), LINK_MTU)
        expect_equal("records", os.listdir("/run/mtuwatchd/clamp"), [])
    finally:
        switch_port_set(LINK_MTU)
        drop_in_clear()


CASES = (case_enabled_and_started, case_few_privileges, case_sandbox_scored, case_introspection,
         case_healthy_path, case_connections_seen, case_black_hole_and_back,
         case_quiet_network_quiet_journal, case_reload_good, case_reload_bad, case_named_errors,
         case_unprivileged, case_log_level, case_storage, case_killed, case_watchdog,
         case_bad_configuration_at_start, case_activated, case_stopped, case_journald_restarted,
         case_bus_restarted, case_clamped, case_link_clamped, *cases_sandbox.CASES, *cables.CASES,
         *cases_ctl.CASES, *cases_terminal.CASES, *cases_printed.CASES, *cases_explain.CASES,
         *cases_recipes.CASES, *cases_fleet.CASES, *cases_monitoring.CASES, *cases_flood.CASES)


def complain(mark, failure):
    places = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(failure.__traceback__)]
    for line in f"{type(failure).__name__}: {failure}".splitlines():
        print("#", line)
    print("# at", " > ".join(places[1:]))
    about = [record for record in journal_all(mark)
             if UNIT in (record.get("_SYSTEMD_UNIT"), record.get("UNIT"))]
    for record in about[-25:]:
        print("# |", record.get("SYSLOG_IDENTIFIER"), record.get("MESSAGE"))


def wanted(words):
    """All cases, or those that begin so; the first is what the others stand on."""
    if cases_package.PACKAGES:
        return cases_package.CASES
    if not words:
        return CASES
    begins = tuple(f"case_{word}" for word in words)
    return CASES[:1] + tuple(case for case in CASES[1:] if case.__name__.startswith(begins))


def main():
    cases = wanted(sys.argv[1:])
    print(f"1..{len(cases)}", flush=True)
    network_make()
    for number, case in enumerate(cases, 1):
        mark = journal_mark()
        try:
            case()
        except Skip as skip:
            print(f"ok {number} - {case.__doc__} # SKIP {skip}", flush=True)
        except (Failure, subprocess.SubprocessError, OSError, KeyError, IndexError, TypeError,
                ValueError, StopIteration) as failure:
            print(f"not ok {number} - {case.__doc__}", flush=True)
            complain(mark, failure)
        else:
            print(f"ok {number} - {case.__doc__}", flush=True)


if __name__ == "__main__":
    main()
