# SPDX-License-Identifier: LGPL-2.1-or-later
"""The lab itself: its faults are exactly what the other cases take them for."""

import concurrent.futures

from cases import case, equal
from topology import A, B, FAMILIES, FAR, R1, direct, limit, routed, switched
from wire import ECHO_REPLY, TOO_BIG, Sniffer, echo, forge

def passes(space, address, size):
    """With time for neighbours to be found: a link that was just made may lose the first question."""
    return echo(space, address, size, wait=20.0)


def exact(space, address, size, full):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        sizes = (size - 1, size, size + 1, full)
        got = list(pool.map(lambda s: passes(space, address, s) if s <= size else
                            echo(space, address, s), sizes))
    equal(f"{address} {sizes}", got, [True, True, False, False])


@case("lab limit", "a switch that carries exactly so much", *FAMILIES)
def lab_limit(network, family):
    a, b, s1 = switched(network)
    assert passes(a, B[family], 9000)
    for size in (1500, 4321):
        limit(s1, size)
        exact(a, B[family], size, 9000)
        exact(b, A[family], size, 9000)


@case("lab drop", "a filter that drops above exactly so much", *FAMILIES)
def lab_drop(network, family):
    a, b = direct(network, 9000)
    b.drop_above(1400, "eth0")
    exact(a, B[family], 1400, 9000)
    b.unfilter("above")
    assert passes(a, B[family], 9000)


@case("lab reports", "routers report, and do not where they are kept from it", *FAMILIES)
def lab_reports(network, family):
    a, r1, _ = routed(network, 9000, 1500)
    sniffer = Sniffer(network, a, "eth0")
    exact(a, FAR[family], 1500, 9000)
    sniffer.last(lambda p: not p.outgoing and p.kind == TOO_BIG[p.version]
                 and p.source == R1[family])
    r1.no_reports()
    sniffer.packets.clear()
    exact(a, FAR[family], 1500, 9000)
    kinds = {p.kind for p in sniffer.packets if not p.outgoing and p.version == (
        4 if family == "ipv4" else 6)} - {135, 136}
    equal("answers", kinds, {ECHO_REPLY[4 if family == "ipv4" else 6]})


@case("lab forge", "a forged report is taken for a real one", *FAMILIES)
def lab_forge(network, family):
    a, r1, _ = routed(network, 1500)
    sniffer = Sniffer(network, a, "eth0")
    # an echo reply of A's own is what a kernel believes whatever sockets are open
    far = network.spaces["B"]
    assert passes(far, A[family], 1000)
    number = ECHO_REPLY[4 if family == "ipv4" else 6]
    reply = sniffer.last(lambda p: p.outgoing and p.kind == number)
    forge(r1, "near", a.hardware_address("eth0"), R1[family], A[family], 1300, reply.bytes)
    found = a.ip(f"route get {FAR[family]}")
    for _ in range(100):
        if "mtu 1300" in found:
            return
        found = a.ip(f"route get {FAR[family]}")
    raise AssertionError(found)
