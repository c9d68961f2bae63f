# SPDX-License-Identifier: LGPL-2.1-or-later
"""The networks that several cases share. Addresses are documentation ones."""

# by family: A's address, its peer on the same link, the router, and a host behind the router
A = {"ipv4": "192.0.2.1", "ipv6": "2001:db8:1::1"}
B = {"ipv4": "192.0.2.2", "ipv6": "2001:db8:1::2"}
R1 = {"ipv4": "192.0.2.254", "ipv6": "2001:db8:1::fe"}
FAR = {"ipv4": "198.51.100.2", "ipv6": "2001:db8:2::2"}
FAR_R = {"ipv4": "198.51.100.254", "ipv6": "2001:db8:2::fe"}
BITS = {"ipv4": 24, "ipv6": 64}
FAMILIES = ("ipv4", "ipv6")


def both(addresses):
    """Both families' addresses with their prefix lengths."""
    return [f"{addresses[family]}/{BITS[family]}" for family in FAMILIES]


def direct(lab, mtu=1500, b_mtu=None):
    """A–B on one cable."""
    a, b = lab.space("A"), lab.space("B")
    lab.link(a, "eth0", b, "eth0", mtu, b_mtu)
    a.address("eth0", *both(A))
    b.address("eth0", *both(B))
    return a, b


def switched(lab, mtu=9000, a_mtu=None):
    """A–S1=S2–B; S1's trunk port is "trunk"."""
    a, b, s1, s2 = lab.space("A"), lab.space("B"), lab.switch("S1"), lab.switch("S2")
    lab.link(a, "eth0", s1, "pa", a_mtu or mtu, mtu)
    lab.link(s1, "trunk", s2, "trunk", mtu)
    lab.link(s2, "pb", b, "eth0", mtu)
    a.address("eth0", *both(A))
    b.address("eth0", *both(B))
    return a, b, s1


def limit(s1, size):
    """L2LIMIT(size): silent, both directions, exact for both families."""
    s1.mtu("trunk", size - 4)  # a port takes a VLAN tag more than its MTU


def routed(lab, mtu=1500, far_mtu=None, b_mtu=None):
    """A–R1–B. R1's devices are "near" and "far"."""
    a, r1, b = lab.space("A"), lab.space("R1", router=True), lab.space("B")
    far_mtu = far_mtu or mtu
    lab.link(a, "eth0", r1, "near", mtu)
    lab.link(r1, "far", b, "eth0", far_mtu, b_mtu)
    a.address("eth0", *both(A))
    r1.address("near", *both(R1))
    r1.address("far", *both(FAR_R))
    b.address("eth0", *both(FAR))
    for family in FAMILIES:
        a.route(f"add {FAR[family].rsplit('2', 1)[0].rstrip('.')}"
                + (".0/24" if family == "ipv4" else "/64") + f" via {R1[family]}")
        b.route(f"add default via {FAR_R[family]}")
    return a, r1, b
