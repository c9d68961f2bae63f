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


def chain(lab, mtu=9000):
    """A–R1–R2–R3–B, devices "near" and "far" as in routed(). Returns A, the routers, B."""
    a, b = lab.space("A"), lab.space("B")
    routers = [lab.space(f"R{i}", router=True) for i in (1, 2, 3)]
    lab.link(a, "eth0", routers[0], "near", mtu)
    a.address("eth0", *both(A))
    routers[0].address("near", *both(R1))
    for number, (left, right) in enumerate(zip(routers, routers[1:]), 1):
        lab.link(left, "far", right, "near", mtu)
        for family in FAMILIES:
            ends = HOPS[family][number]
            left.address("far", f"{ends[0]}/{BITS[family]}")
            right.address("near", f"{ends[1]}/{BITS[family]}")
            left.route(f"add default via {ends[1]}")
            right.route(f"add {net(A[family])} via {ends[0]}")
    lab.link(routers[-1], "far", b, "eth0", mtu)
    routers[-1].address("far", *both(FAR_R))
    b.address("eth0", *both(FAR))
    for family in FAMILIES:
        a.route(f"add default via {R1[family]}")
        b.route(f"add default via {FAR_R[family]}")
        # what is between two routers has a way back too
        routers[-1].route(f"add default via {HOPS[family][2][0]}")
    return a, routers, b


# what the routers of chain() have between them: by number of the left one
HOPS = {"ipv4": {1: ("10.0.1.1", "10.0.1.2"), 2: ("10.0.2.1", "10.0.2.2")},
        "ipv6": {1: ("2001:db8:f1::1", "2001:db8:f1::2"), 2: ("2001:db8:f2::1", "2001:db8:f2::2")}}


def net(address):
    """The network of one of these addresses."""
    if ":" in address:
        return address.split("::")[0] + "::/64"
    return address.rsplit(".", 1)[0] + ".0/24"


def two_ways(lab, back_mtu=1500, mtu=9000):
    """A–R1–B, and back B–R2–A, where R2's link to A has back_mtu. R2's devices as in routed()."""
    a, r1, b = lab.space("A"), lab.space("R1", router=True), lab.space("B")
    r2 = lab.space("R2", router=True)
    lab.link(a, "eth0", r1, "near", mtu)
    lab.link(r1, "far", b, "eth0", mtu)
    lab.link(b, "eth1", r2, "far", mtu)
    lab.link(r2, "near", a, "eth1", back_mtu)
    back = {"ipv4": ("203.0.113.1", "203.0.113.254", "10.9.9.2", "10.9.9.254"),
            "ipv6": ("2001:db8:4::1", "2001:db8:4::fe", "2001:db8:5::2", "2001:db8:5::fe")}
    for space in (a, b, r1, r2):
        space.sysctl("net.ipv4.conf.all.rp_filter", 0)
        space.sysctl("net.ipv4.conf.default.rp_filter", 0)
    a.address("eth0", *both(A))
    r1.address("near", *both(R1))
    r1.address("far", *both(FAR_R))
    b.address("eth0", *both(FAR))
    for family in FAMILIES:
        a.address("eth1", f"{back[family][0]}/{BITS[family]}")
        r2.address("near", f"{back[family][1]}/{BITS[family]}")
        b.address("eth1", f"{back[family][2]}/{BITS[family]}")
        r2.address("far", f"{back[family][3]}/{BITS[family]}")
        a.route(f"add default via {R1[family]}")
        b.route(f"add default via {back[family][3]}")
        r2.route(f"add {A[family]}/{32 if family == 'ipv4' else 128} via {back[family][0]}")
        r2.route(f"add default via {back[family][2]}")
    return a, r1, r2, b


def multipath(lab, family, mtu=9000):
    """A–R1=R2–B: R1 spreads over "leg1" and "leg2" by layer 4; the way back is leg1 alone."""
    a, b = lab.space("A"), lab.space("B")
    r1, r2 = lab.space("R1", router=True), lab.space("R2", router=True)
    lab.link(a, "eth0", r1, "near", mtu)
    lab.link(r1, "leg1", r2, "leg1", mtu)
    lab.link(r1, "leg2", r2, "leg2", mtu)
    lab.link(r2, "far", b, "eth0", mtu)
    r1.sysctl(f"net.{family}.fib_multipath_hash_policy", 1)
    a.address("eth0", *both(A))
    r1.address("near", *both(R1))
    r2.address("far", *both(FAR_R))
    b.address("eth0", *both(FAR))
    hops = HOPS[family]
    for leg in (1, 2):
        r1.address(f"leg{leg}", f"{hops[leg][0]}/{BITS[family]}")
        r2.address(f"leg{leg}", f"{hops[leg][1]}/{BITS[family]}")
    a.route(f"add default via {R1[family]}")
    b.route(f"add default via {FAR_R[family]}")
    r1.route(f"add {net(FAR[family])} nexthop via {hops[1][1]} dev leg1 "
             f"nexthop via {hops[2][1]} dev leg2")
    r2.route(f"add default via {hops[1][0]}")
    return a, r1, r2, b


def two_links(lab, family, b_mtu=9000):
    """A=B by "eth0" and "eth1"; MULTI is behind both, one route over the two."""
    a, b = direct(lab, 9000)
    lab.link(a, "eth1", b, "eth1", 9000, b_mtu)
    far = MULTI[family]
    second = {"ipv4": ("10.1.0.1", "10.1.0.2"), "ipv6": ("2001:db8:8::1", "2001:db8:8::2")}[family]
    for space, address in ((a, second[0]), (b, second[1])):
        for key, value in (("rp_filter", 0), ("arp_ignore", 2), ("arp_announce", 2)):
            space.sysctl(f"net.ipv4.conf.all.{key}", value)
        space.address("eth1", f"{address}/{BITS[family]}")
    bits = 32 if family == "ipv4" else 128
    b.address("lo", f"{far}/{bits}")
    a.route(f"add {far}/{bits} nexthop via {B[family]} dev eth0 nexthop via {second[1]} dev eth1")
    return a, b


MULTI = {"ipv4": "203.0.113.2", "ipv6": "2001:db8:9::2"}
