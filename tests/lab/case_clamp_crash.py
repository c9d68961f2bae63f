# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon killed, and failed by the kernel, at each step of a clamp: strace(1) does it."""

import os
import time

from case_clamp import PROTOCOL, clamps, release, state, wait_clamps
from case_clamp_link import mtus, wait_mtu, with_record
from cases import case, equal, start
from daemon import config
from topology import B, limit, switched
from trouble import Traced, needs_strace

EAGER = dict(Clamp="route", ClampAfter=1, FailAfter=1, RecoverAfter=1, Timeout="200ms")


def traced_daemon(lab, space, text, calls="sendto,recvmsg"):
    return Traced(lab, start(lab, space, text, start=False), calls)


def route_calls(traced):
    """The calls so far, in order: (name, what kind of request it was)."""
    return [(line.split("(")[0], next((k for k in ("RTM_NEWROUTE", "RTM_DELROUTE")
                                       if k in line.split("=")[0] or f"={k}" in line), ""))
            for line in traced.lines() if line.startswith(("sendto(", "recvmsg("))]


def steps_of(traced, request):
    """The numbers, by kind of call, of those that belong to the last such request: before it, between
    it and its answer, and after."""
    calls = route_calls(traced)
    place = max(i for i, (name, kind) in enumerate(calls) if name == "sendto" and kind == request)
    found = []
    for i in range(max(0, place - 4), min(len(calls), place + 7)):
        name = calls[i][0]
        found.append((name, sum(1 for x in calls[:i + 1] if x[0] == name)))
    return found


def put_and_lift(traced, s1, a, before):
    """One whole life of a clamp, to learn at which calls it happens."""
    limit(s1, 1500)
    traced.start()
    wait_clamps(traced.daemon, a, {B["ipv4"]: 1500})
    traced.daemon.wait_peer("san", ClampMTU=1500)
    put = steps_of(traced, "RTM_NEWROUTE")
    s1.mtu("trunk", 9000)
    wait_clamps(traced.daemon, a, {})
    traced.daemon.wait_peer("san", ClampMTU=0)
    lift = steps_of(traced, "RTM_DELROUTE")
    traced.kill()
    equal("after a whole life", state(a), before)
    return put, lift


def rightly(a, before):
    """As before, or clamped as it should be and otherwise as before."""
    held = clamps(a)
    if held not in ({}, {B["ipv4"]: 1500}):
        return False
    now = state(a)
    kept = sorted(x for x in now[1] if f'"protocol": "{PROTOCOL}"' not in x)
    return (now[0], kept) == (before[0], before[1])


def one_run(traced, s1, a, before, inject):
    """A life in which this one call goes wrong; afterwards a life without. True: the call was met."""
    limit(s1, 1500)
    traced.start(inject)
    kill = "KILL" in inject
    met = False
    until = time.monotonic() + 6
    while time.monotonic() < until and not traced.ended():
        if clamps(a) and not met:
            s1.mtu("trunk", 9000)
            met = True
        elif met and not clamps(a):
            break
        time.sleep(0.02)
    met = traced.ended() if kill else True
    traced.kill()
    assert rightly(a, before), (inject, clamps(a), state(a), before)
    # the next life: clamped where that is needed, and then as it was
    limit(s1, 1500)
    traced.daemon.start()
    wait_clamps(traced.daemon, a, {B["ipv4"]: 1500})
    assert rightly(a, before), (inject, "next life", state(a), before)
    s1.mtu("trunk", 9000)
    wait_clamps(traced.daemon, a, {})
    traced.daemon.process.kill()
    traced.daemon.process.wait()
    traced.daemon.process = None
    equal(f"after {inject}", state(a), before)
    return met


@case("clamp-crash", "killed before, in and after each change of a route, over and over")
def crash(lab):
    needs_strace()
    a, _, s1 = switched(lab)
    before = state(a)
    traced = traced_daemon(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **EAGER))
    put, lift = put_and_lift(traced, s1, a, before)
    wanted = int(os.environ.get("CLAMP_RUNS", 12))
    runs = met = 0
    while runs < wanted:
        for name, number in (put + lift)[runs % 2::2]:
            if runs >= wanted:
                break
            met += one_run(traced, s1, a, before, f"{name}:signal=KILL:when={number}")
            runs += 1
    print(f"{runs} runs, {met} of them killed in their midst: everything as before or rightly clamped")
    assert met > 0


@case("clamp-fail", "a netlink call that fails, or whose answer gets lost, at each change of a route")
def fail(lab):
    needs_strace()
    a, _, s1 = switched(lab)
    before = state(a)
    traced = traced_daemon(lab, a, config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, **EAGER))
    put, lift = put_and_lift(traced, s1, a, before)
    wanted = int(os.environ.get("CLAMP_RUNS", 8))
    runs = 0
    while runs < wanted:
        for name, number in put + lift:
            if runs >= wanted:
                break
            error = "ENOBUFS" if runs % 2 else "ENOMEM"
            one_run(traced, s1, a, before, f"{name}:error={error}:when={number}")
            runs += 1
    print(f"{runs} runs with one call failed: everything as before or rightly clamped")


def links_rightly(a, before):
    """Every MTU, address and route as before, or the link clamped and all that stands on it."""
    now = state(a)
    if now == before:
        return True
    clamped = {"eth0": 1500, "mv0": 1500, "vx0": 1450}
    kept = sorted(x for x in now[1] if f'"protocol": "{PROTOCOL}"' not in x)
    links = [(name, clamped.get(name, mtu), addresses) for name, mtu, addresses in before[0]]
    return now[0] == links and kept == before[1]


STEPS = ("sendto", "recvmsg", "openat", "write", "fsync", "rename", "renameat", "unlinkat")


def link_calls(traced):
    """Numbers by name of the calls around changes of links and records."""
    counts, found = {}, []
    for line in traced.lines():
        name = line.split("(")[0]
        if name not in STEPS:
            continue
        counts[name] = counts.get(name, 0) + 1
        if "RTM_NEWLINK" in line and name == "sendto" or "link-" in line or '"new"' in line or \
                name in ("fsync", "renameat", "unlinkat"):
            found.append((name, counts[name]))
            found += [("recvmsg", counts.get("recvmsg", 0) + 1)] if name == "sendto" else []
    return found


@case("clamp-link-crash", "killed and failed at each step of a link's clamp, with what stands on it")
def link_crash(lab):
    needs_strace()
    a, _, s1 = switched(lab)
    a.ip("link add mv0 link eth0 mtu 9000 type macvlan mode bridge")
    a.address("mv0", "10.9.0.11/24", "2001:db8:9::11/64")
    a.ip("link add vx0 type vxlan id 9 dstport 4789 dev eth0 remote 192.0.2.2")
    for device in ("mv0", "vx0"):
        a.up(device)
    text = config({"san": {"Address": B["ipv4"], "ExpectMTU": 9000}}, Clamp="link", ClampAfter=1,
                  FailAfter=1, RecoverAfter=1, Timeout="200ms", ClampRetry="10s")
    traced = traced_daemon(lab, a, text, calls=",".join(STEPS))
    with_record(lab, traced.daemon)
    before = state(a)

    def life(*inject):
        """Clamped by itself, and released on request; or until it is over."""
        limit(s1, 1500)
        traced.start(*inject)
        until = time.monotonic() + 8
        while time.monotonic() < until and not traced.ended():
            if mtus(a)["eth0"] == 1500:
                try:
                    release(traced.daemon)
                except Exception:  # pylint: disable=broad-except
                    pass
                else:
                    break
            time.sleep(0.02)
        ended = traced.ended()
        traced.kill()
        return ended

    life()
    equal("after a whole life", state(a), before)
    steps = link_calls(traced)
    assert len(steps) > 12 and len({name for name, _ in steps}) > 4, steps
    wanted = int(os.environ.get("CLAMP_RUNS", 14))
    runs = met = 0
    while runs < wanted:
        for number, (name, at) in enumerate(steps[runs % 3::3] if wanted < len(steps) else steps):
            if runs >= wanted:
                break
            kill = number % 3 != 2
            inject = f"{name}:signal=KILL:when={at}" if kill else f"{name}:error=ENOMEM:when={at}"
            met += life(inject)
            runs += 1
            # the next life finishes what was begun: clamped, or not clamped at all
            limit(s1, 1500)
            traced.daemon.start()
            wait_mtu(traced.daemon, a, 1500)
            traced.daemon.wait("all of it", lambda: links_rightly(a, before))
            release(traced.daemon)
            equal(f"after {inject}", state(a), before)
            traced.daemon.process.kill()
            traced.daemon.process.wait()
            traced.daemon.process = None
    print(f"{runs} runs, {met} of them ended in their midst: everything as before or rightly clamped")
    assert met > 0
