# SPDX-License-Identifier: LGPL-2.1-or-later
"""explain beside what sets links up: networkd, netplan, ifupdown and NetworkManager themselves are
asked, and what it tells to write is written, and lasts."""

import contextlib
import glob
import json
import os
import shutil
import subprocess

from world import (BASE_CONFIG, LINK_MTU, Skip, expect, expect_equal, file_write, peer_property, run,
                   service_fresh, wait_for)

ADDRESS = "192.0.2.1/24"
NETWORK = "/etc/systemd/network/10-eth1.network"
NETPLAN = "/etc/netplan/50-test.yaml"
INTERFACES = "/etc/network/interfaces"
SMALL = 1500
EXPECTING = BASE_CONFIG + f"ExpectMTU={LINK_MTU}\n"


def need(*programs):
    missing = [name for name in programs if not shutil.which(name) and not os.path.exists(name)]
    if missing:
        raise Skip("not installed: " + " ".join(missing))


def link_mtu():
    with open("/sys/class/net/eth1/mtu", encoding="ascii") as text:
        return int(text.read())


def explained():
    shown = json.loads(run("mtuwatchctl", "--json=short", "explain", "san"))
    return shown["Paths"][0]


def remedy():
    """What explain says of the small link: one action."""
    service_fresh(EXPECTING)
    wait_for("san misconfigured", lambda: peer_property("san", "Verdict") == "misconfigured", 40)
    path = explained()
    expect_equal("actions", len(path["Actions"]), 1)
    return path["Actions"][0]


def healed():
    wait_for("san consistent at the full size", lambda: peer_property("san", "Verdict") ==
             "consistent" and peer_property("san", "PathMTU") == LINK_MTU, 40)
    text = run("mtuwatchctl", "explain", "san")
    expect("There is nothing to mend on this path." in text, text)


def commands_run(action):
    for command in action["Commands"]:
        run("sh", "-c", command)


@contextlib.contextmanager
def put_back():
    """The link as the other cases know it, nobody in charge."""
    try:
        yield
    finally:
        for unit in ("systemd-networkd.socket", "systemd-networkd.service", "NetworkManager.service"):
            subprocess.run(["systemctl", "stop", unit], check=False, stderr=subprocess.DEVNULL)
        for path in (NETWORK, NETPLAN, INTERFACES, *glob.glob("/run/systemd/network/*netplan*")):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        shutil.rmtree(f"{NETWORK}.d", ignore_errors=True)
        shutil.rmtree("/etc/systemd/network/10-netplan-eth1.network.d", ignore_errors=True)
        run("ip", "addr", "replace", ADDRESS, "dev", "eth1")
        run("ip", "link", "set", "eth1", "up", "mtu", str(LINK_MTU))


def networkd_begin():
    need("/lib/systemd/systemd-networkd")
    run("ip", "addr", "flush", "dev", "eth1")
    run("systemctl", "start", "systemd-networkd.service")
    index = run("cat", "/sys/class/net/eth1/ifindex").strip()

    def state():
        with open(f"/run/systemd/netif/links/{index}", encoding="utf-8") as text:
            return text.read()
    wait_for("networkd has eth1", lambda: "NETWORK_FILE=/" in state() and link_mtu() == SMALL)


def case_explain_networkd():
    """explain: the drop-in that it prints makes networkd set the MTU, once and for good"""
    with put_back():
        file_write(NETWORK, f"[Match]\nName=eth1\n[Link]\nMTUBytes={SMALL}\n[Network]\n"
                   f"Address={ADDRESS}\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n")
        networkd_begin()
        action = remedy()
        expect("systemd-networkd, by " + NETWORK in action["Text"], action)
        expect_equal("file", action["File"], f"{NETWORK}.d/90-mtu.conf")
        file_write(action["File"], "\n".join(action["Lines"]) + "\n")
        commands_run(action)
        wait_for("the MTU", lambda: link_mtu() == LINK_MTU)
        healed()
        run("ip", "link", "set", "eth1", "mtu", str(SMALL))
        run("systemctl", "restart", "systemd-networkd.service")
        wait_for("the MTU after a restart", lambda: link_mtu() == LINK_MTU)


def case_explain_netplan():
    """explain: netplan's definition is named, and the line that it prints is what netplan wants"""
    need("netplan")
    with put_back():
        file_write(NETPLAN, "network:\n  version: 2\n  renderer: networkd\n  ethernets:\n    eth1:\n"
                   f"      addresses: [{ADDRESS}]\n      accept-ra: false\n      mtu: {SMALL}\n")
        os.chmod(NETPLAN, 0o600)
        run("netplan", "generate")
        networkd_begin()
        action = remedy()
        expect('by netplan, as "eth1"' in action["Text"], action)
        expect_equal("file", action["File"], NETPLAN)
        expect_equal("lines", action["Lines"], ["network:", "  ethernets:", "    eth1:",
                                                f"      mtu: {LINK_MTU}"])
        with open(NETPLAN, encoding="utf-8") as text:
            lines = text.read().splitlines()
        place = lines.index(f"      mtu: {SMALL}")
        file_write(NETPLAN, "\n".join(lines[:place] + action["Lines"][-1:]) + "\n")
        os.chmod(NETPLAN, 0o600)
        expect_equal("commands", action["Commands"], ["netplan apply"])
        # it triggers udev, for which a container's /sys cannot be written
        run("unshare", "--mount", "sh", "-c",
            f"mount -t sysfs sysfs /sys && mount -o remount,rw /sys && {action['Commands'][0]}")
        wait_for("the MTU", lambda: link_mtu() == LINK_MTU)
        healed()


def case_explain_ifupdown():
    """explain: the stanza is found in what interfaces(5) includes, and its line lasts"""
    need("ifup", "ifdown")
    with put_back():
        run("ip", "addr", "flush", "dev", "eth1")
        for when in ("pre-up", "up", "down", "post-down"):
            os.makedirs(f"/etc/network/if-{when}.d", exist_ok=True)
        stanza = f"iface eth1 inet static\n    address {ADDRESS}\n"
        file_write(INTERFACES, stanza)
        run("ip", "link", "set", "eth1", "mtu", str(SMALL))
        run("ifup", "eth1")
        action = remedy()
        expect("by ifupdown" in action["Text"], action)
        expect_equal("file", action["File"], INTERFACES)
        expect_equal("lines", action["Lines"], ["iface eth1 inet static", f"    mtu {LINK_MTU}"])
        file_write(INTERFACES, stanza + action["Lines"][-1] + "\n")
        commands_run(action)
        healed()
        run("ifdown", "eth1")
        run("ip", "link", "set", "eth1", "mtu", str(SMALL))
        run("ifup", "eth1")
        expect_equal("the MTU after ifup", link_mtu(), LINK_MTU)
        run("ifdown", "eth1")


def case_explain_network_manager():
    """explain: NetworkManager's connection is named, and the command that it prints lasts"""
    need("nmcli", "NetworkManager")
    with put_back():
        file_write("/etc/NetworkManager/conf.d/test.conf",
                   "[main]\nno-auto-default=*\n[device]\nmatch-device=*\nmanaged=1\n")
        run("systemctl", "start", "NetworkManager.service")
        run("nmcli", "device", "set", "eth1", "managed", "yes")
        run("nmcli", "connection", "add", "type", "ethernet", "ifname", "eth1", "con-name",
            "storage lan", "ipv4.method", "manual", "ipv4.addresses", ADDRESS, "ipv6.method",
            "disabled", "802-3-ethernet.mtu", str(SMALL))
        try:
            run("nmcli", "connection", "up", "storage lan")
            wait_for("the MTU", lambda: link_mtu() == SMALL)
            action = remedy()
            expect('NetworkManager, by the connection "storage lan"' in action["Text"], action)
            commands_run(action)
            wait_for("the larger MTU", lambda: link_mtu() == LINK_MTU)
            healed()
            expect_equal("kept", run("nmcli", "-g", "802-3-ethernet.mtu", "connection", "show",
                                     "storage lan").strip(), str(LINK_MTU))
        finally:
            run("nmcli", "connection", "delete", "storage lan")


def case_explain_nobody():
    """explain: nobody sets the link up, and that is said; what is printed works at once"""
    with put_back():
        run("ip", "link", "set", "eth1", "mtu", str(SMALL))
        action = remedy()
        expect("gone with the next boot" in action["Text"], action)
        expect_equal("commands", action["Commands"], [f"ip link set dev eth1 mtu {LINK_MTU}"])
        commands_run(action)
        healed()


CASES = (case_explain_nobody, case_explain_networkd, case_explain_netplan, case_explain_ifupdown,
         case_explain_network_manager)
