# SPDX-License-Identifier: LGPL-2.1-or-later
"""A world in which every verdict stands at once: for what shows them. Beside san of world.py, by a
link with a wide name and by a router."""

import contextlib
import subprocess

from world import peer_check, peer_property, run, service_fresh, wait_for

WIDE_LINK = "börse-網路-1"
LONG_PEER = "a-peer-with-a-name-of-forty-characters-1"
IPV6 = "2001:db8:1234:5678:9abc:def0:1234"
VERDICTS = {"san": "consistent", LONG_PEER: "black-hole", "some-flows": "partial", "bit-errors": "lossy",
            "behind-a-router": "reduced", "too-much": "misconfigured", "absent": "unreachable",
            "no-responder": "unverifiable", "new": "unknown", "wide": "consistent",
            "nameless": "unreachable"}

CONFIG_TEXT = f"""\
[Daemon]
Interval=1h
Timeout=300ms
Discover=none
FailAfter=1

[Peer san]
Address=192.0.2.10

[Peer {LONG_PEER}]
Address={IPV6}:12

[Peer some-flows]
Address=192.0.2.13
Method=tcp
Flows=16

[Peer bit-errors]
Address=192.0.2.14

[Peer behind-a-router]
Address=203.0.113.2

[Peer too-much]
Address=192.0.2.11
ExpectMTU=9100

[Peer absent]
Address=192.0.2.99

[Peer no-responder]
Address=192.0.2.16
Method=responder

[Peer wide]
Address=198.51.100.10

[Peer nameless]
Address=storage-array-17.example.invalid

[Peer new]
Address=192.0.2.98
Timeout=1min
Tries=20
"""

FILTER = f"""\
table inet gallery {{
    chain input {{
        type filter hook input priority 0; policy accept;
        ip6 daddr {IPV6}:12 meta length > 1500 drop
        ip daddr 192.0.2.13 tcp sport & 1 == 1 meta length > 1500 drop
        ip daddr 192.0.2.14 meta length > 1500 numgen inc mod 5 < 2 drop
    }}
}}
"""


def links_make():
    run("ip", "link", "add", WIDE_LINK, "mtu", "9000", "type", "veth", "peer", "name", "eth1", "mtu", "9000",
        "netns", "san")
    run("ip", "address", "add", "198.51.100.1/24", "dev", WIDE_LINK)
    run("ip", "link", "set", WIDE_LINK, "up")
    run("ip", "-n", "san", "address", "add", "198.51.100.10/24", "dev", "eth1")
    run("ip", "-n", "san", "link", "set", "eth1", "up")
    run("ip", "netns", "add", "far")
    run("ip", "-n", "san", "link", "add", "eth2", "mtu", "1500", "type", "veth", "peer", "name", "eth0",
        "mtu", "1500", "netns", "far")
    for space, link, address in (("san", "eth2", "203.0.113.1/24"), ("far", "eth0", "203.0.113.2/24")):
        run("ip", "-n", space, "address", "add", address, "dev", link)
        run("ip", "-n", space, "link", "set", link, "up")
    run("ip", "-n", "far", "route", "add", "default", "via", "203.0.113.1")
    run("ip", "netns", "exec", "san", "sysctl", "-qw", "net.ipv4.ip_forward=1")
    run("ip", "route", "add", "203.0.113.0/24", "via", "192.0.2.10")


def addresses_make():
    for number in (13, 14, 16):
        run("ip", "-n", "san", "address", "add", f"192.0.2.{number}/24", "dev", "eth0")
    run("ip", "address", "add", f"{IPV6}:1/64", "dev", "eth1", "nodad")
    run("ip", "-n", "san", "address", "add", f"{IPV6}:12/64", "dev", "eth0", "nodad")
    # what is sent there vanishes, so that it takes its time
    for number in (98, 99):
        run("ip", "neigh", "replace", f"192.0.2.{number}", "lladdr", f"02:00:00:00:00:{number}", "dev",
            "eth1")
    subprocess.run(["ip", "netns", "exec", "san", "nft", "-f", "-"], input=FILTER, text=True, check=True)


@contextlib.contextmanager
def opened(more=""):
    """The service in this world, all verdicts reached."""
    try:
        links_make()
        addresses_make()
        service_fresh(CONFIG_TEXT + more)
        for name, verdict in VERDICTS.items():
            if verdict == "lossy":  # a matter of luck, a little
                wait_for(name, lambda name=name: peer_check(name)["Verdict"] == "lossy", 60)
            wait_for(f"{name}: {verdict}", lambda name=name, verdict=verdict:
                     peer_property(name, "Verdict") == verdict, 60)
        yield
    finally:
        closed()


def closed():
    for command in (("ip", "netns", "exec", "san", "nft", "delete", "table", "inet", "gallery"),
                    ("ip", "link", "delete", WIDE_LINK), ("ip", "netns", "delete", "far"),
                    ("ip", "-n", "san", "link", "delete", "eth2"),
                    ("ip", "address", "delete", f"{IPV6}:1/64", "dev", "eth1"),
                    ("ip", "-n", "san", "address", "delete", f"{IPV6}:12/64", "dev", "eth0"),
                    *(("ip", "-n", "san", "address", "delete", f"192.0.2.{number}/24", "dev", "eth0")
                      for number in (13, 14, 16)),
                    *(("ip", "neigh", "delete", f"192.0.2.{number}", "dev", "eth1")
                      for number in (98, 99)),
                    ("ip", "route", "delete", "203.0.113.0/24")):
        subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
