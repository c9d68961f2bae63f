# SPDX-License-Identifier: LGPL-2.1-or-later
"""The system fails the daemon: it ends with a clear error or goes on, and is never wrong of it."""

import collections
import os
import time

from cases import case
from daemon import end
from trouble import Preloaded, Traced, injected, needs_strace
from troubled import Troubled


def share(work):
    """All of it is done by several processes, each of which does a part: FAULTS=PART/PARTS. A test
    like any other does `few` of it."""
    part, _, parts = os.environ.get("FAULTS", "").partition("/")
    return work[int(part)::int(parts)] if parts else None


def spread(work, few):
    step = max(1, len(work) // few)
    return work[::step][:few]


# --- system calls ---

ERRORS = ("EPERM", "EINTR", "EIO", "EAGAIN", "ENOMEM", "EINVAL", "EMFILE", "ENOSPC", "ENOBUFS")
# They have no way to fail, or are the end; brk(2) fails by telling the old place, which strace cannot;
# and on an error of futex(2) glibc ends the program itself.
NEVER_FAIL = {"arch_prctl", "brk", "clock_gettime", "execve", "exit", "exit_group", "futex", "getpid",
              "gettid", "restart_syscall", "rseq", "rt_sigreturn", "set_robust_list",
              "set_tid_address"}
FIRST_OF_MAIN = '"/dev/null", O_RDONLY'  # what is before that is the dynamic linker's
SELDOM = {"connect": 3}  # one every two seconds: no more of them in a row


def calls_made(world, traced):
    """By name: how many calls come before main(), and until the first round is over; and which are
    made later."""
    traced.start()
    assert world.wait("the true verdicts", world.right), "not well without trouble"
    begun = len(traced.lines())
    world.daemon.rounds("hole", 3)
    lines = traced.lines()
    assert traced.stop() == 0
    main = next(i for i, line in enumerate(lines) if FIRST_OF_MAIN in line)
    before, made = counted(lines[:main]), counted(lines[main:begun])
    return {name: (before[name], made[name]) for name in sorted(made)}, \
        sorted(counted(lines[begun:]))


def counted(lines):
    made = collections.Counter(line.split("(")[0] for line in lines
                               if "(" in line and not line.startswith(("<", "+", "-")))
    for name in NEVER_FAIL:
        made.pop(name, None)
    return made


def moments(name, before, made):
    """The first call, one in the middle, and many in a row from each of them on."""
    first, middle, row = before + 1, before + max(2, made // 2), SELDOM.get(name, 30)
    return f"{first}", f"{first}..{first + row}", f"{middle}", f"{middle}..{middle + row}"


@case("faults start", "a system call fails while the daemon starts: a clear end, or on as it should be")
def calls_at_start(lab):
    needs_strace()
    world = Troubled(lab)
    world.may_lack("named")  # strace counts by thread: that of each look-up meets it again
    traced = Traced(lab, world.daemon, "all")
    made, _ = calls_made(world, traced)
    work = [(name, error, when) for name, counts in made.items() for error in ERRORS
            for when in moments(name, *counts)]
    print(f"{len(made)} system calls, {len(ERRORS)} errors, {len(work)} ways")
    # the configuration is not read; the thread that looks names up is not made
    begun = made["openat"][0] + 1
    some = [("openat", "EMFILE", f"{begun}..{begun + 30}"), ("clone3", "EAGAIN", "1")]
    for name, error, when in share(work) or some + spread(work, 4):
        traced.traced = name
        world.life(f"{name}:error={error}:when={when}",
                   lambda: traced.start(f"{name}:error={error}:when={when}"),  # pylint: disable=W0640
                   traced.stop, lambda: injected(traced.log) > 0)
    assert world.told()


def inject_running(world, traced, inject):
    """Into a daemon that runs, until so many calls were met or there are none."""
    tracer, log = traced.attach(inject)
    until = time.monotonic() + 2.5
    wanted = int(inject.rpartition(".")[2])
    try:
        while time.monotonic() < until and injected(log) < wanted and not world.ended():
            time.sleep(0.02)
    finally:
        end(tracer)
    return injected(log) > 0


@case("faults running", "a system call fails while the daemon runs: a clear end, or on as it should be")
def calls_running(lab):
    needs_strace()
    world = Troubled(lab)
    traced = Traced(lab, world.daemon, "all")
    _, made = calls_made(world, traced)
    work = [(name, number) for name in made for number in (1, 12)]
    print(f"{len(made)} system calls: {' '.join(made)}")
    whole = share(work)
    for name, number in whole or [("sendmmsg", 12), ("epoll_wait", 1)]:
        for error in ERRORS if whole else ERRORS[::3]:
            if world.daemon.process is None:
                world.fresh()
                world.daemon.start()
                assert world.wait("the true verdicts", world.right), "not well without trouble"
            inject = f"{name}:error={error}:when=1..{number}"
            world.strike(inject, lambda: inject_running(world, traced, inject))  # pylint: disable=W0640
        world.change(name)
    assert world.told()


# --- memory ---

def memory_begin(world, preloaded, first=0, last=0, sites=False):
    preloaded.set(first=first, last=last, made=0)
    world.daemon.variables = preloaded.variables(sites)
    world.daemon.start()


def memory_places(world, preloaded):
    """The first and the last allocation from each place, as far as the first round."""
    memory_begin(world, preloaded, sites=True)
    world.patience = 60  # listing takes its time
    assert world.wait("the true verdicts", world.right, 60), "not well without trouble"
    world.patience = 5
    stacks = preloaded.listed()
    assert world.daemon.stop() == 0
    places = {}
    for number, stack in enumerate(stacks, 1):
        own = next((frame for frame in stack if frame.startswith("mtuwatchd+")), "")
        places.setdefault((stack[0] if stack else "", own), []).append(number)
    chosen = sorted({n for numbers in places.values() for n in (numbers[0], numbers[-1])})
    print(f"{len(stacks)} allocations from {len(places)} places until the first round is over")
    return chosen


@case("faults memory", "an allocation fails, or many in a row: a clear end, or on as if nothing was")
def memory(lab):
    world, preloaded = Troubled(lab), Preloaded(lab)
    places = memory_places(world, preloaded)
    work = [(n, n) for n in places] + [(n, n + 100) for n in places[::4]]
    for first, last in share(work) or spread(work, 6):
        world.life(f"allocations {first} to {last}",
                   lambda: memory_begin(world, preloaded, first, last),  # pylint: disable=W0640
                   world.daemon.stop, lambda: preloaded.get("failed") > 0)
    assert world.told()
