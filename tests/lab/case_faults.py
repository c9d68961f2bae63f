# SPDX-License-Identifier: LGPL-2.1-or-later
"""The system fails the daemon: it ends with a clear error or goes on, and is never wrong of it."""

import collections
import contextlib
import os
import time
import zlib

from cases import case
from daemon import BusError, end
from trouble import Preloaded, Traced, injected, needs_strace
from troubled import HOLE, Troubled


def share(work):
    """All of it is done by several processes, each of which does a part: FAULTS=PART/PARTS. Who does
    what is by its name, which comes first: what there is to do differs a little from one to the other.
    A test like any other does `few` of it."""
    part, _, parts = os.environ.get("FAULTS", "").partition("/")
    if not parts:
        return None
    return [one for one in work if zlib.crc32(str(one[0]).encode()) % int(parts) == int(part)]


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
    work = [((name, error, which), name, error, when) for name, counts in made.items()
            for error in ERRORS for which, when in enumerate(moments(name, *counts))]
    print(f"{len(made)} system calls, {len(ERRORS)} errors, {len(work)} ways")
    # the configuration is not read; the thread that looks names up is not made
    begun = made["openat"][0] + 1
    some = [(None, "openat", "EMFILE", f"{begun}..{begun + 30}"), (None, "clone3", "EAGAIN", "1")]
    for _, name, error, when in share(work) or some + spread(work, 4):
        traced.traced = name
        world.life(f"{name}:error={error}:when={when}",
                   lambda: traced.start(f"{name}:error={error}:when={when}"),  # pylint: disable=W0640
                   traced.stop, lambda: injected(traced.log))
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
    return injected(log)


@case("faults running", "a system call fails while the daemon runs: a clear end, or on as it should be")
def calls_running(lab):
    needs_strace()
    world = Troubled(lab)
    traced = Traced(lab, world.daemon, "all")
    _, made = calls_made(world, traced)
    work = [((name, number), name, number) for name in made for number in (1, 12)]
    print(f"{len(made)} system calls: {' '.join(made)}")
    whole = share(work)
    for _, name, number in whole or [(None, "sendmmsg", 12), (None, "epoll_wait", 1)]:
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


def own_place(stack):
    """Where it was made, and where in the program that was asked for."""
    own = next((frame for frame in stack if frame.startswith("mtuwatchd+")), "")
    return stack[0] if stack else "", own


def memory_places(world, preloaded):
    """The first and the last allocation from each place, as far as the first round; and of each
    fourth place the hundred that follow."""
    memory_begin(world, preloaded, sites=True)
    world.patience = 60  # listing takes its time
    assert world.wait("the true verdicts", world.right, 60), "not well without trouble"
    world.patience = 5
    stacks = preloaded.listed()
    assert world.daemon.stop() == 0
    places = {}
    for number, stack in enumerate(stacks, 1):
        places.setdefault(own_place(stack), []).append(number)
    print(f"{len(stacks)} allocations from {len(places)} places until the first round is over")
    work = {}
    for place, numbers in places.items():
        work[numbers[-1], 0] = ((place, "last"), numbers[-1], 0)
        work[numbers[0], 0] = ((place, "first"), numbers[0], 0)
        if zlib.crc32(str(place).encode()) % 4 == 0:
            work[numbers[0], 100] = ((place, "row"), numbers[0], 100)
    return list(work.values())


@case("faults memory", "an allocation fails, or many in a row: a clear end, or on as if nothing was")
def memory(lab):
    world, preloaded = Troubled(lab), Preloaded(lab)
    work = memory_places(world, preloaded)
    for _, first, more in share(work) or spread(work, 6):
        world.life(f"allocations {first} to {first + more}",
                   lambda: memory_begin(world, preloaded, first, first + more),  # pylint: disable=W0640
                   world.daemon.stop, lambda: preloaded.get("failed"))
    assert world.told()


def memory_deeds(world):
    """What may befall a daemon that runs, by name."""
    states = {9000: ("consistent", 9000), 1496: ("black-hole", 1500)}

    def way():
        """The narrow place becomes wide, or narrow again."""
        mtu = 9000 if world.truth["hole"] == states[1496] else 1496
        world.before["hole"], world.truth["hole"] = world.truth["hole"], states[mtu]
        world.switch.mtu("narrow", mtu)

    def call(method, *words):
        with contextlib.suppress(BusError):
            world.daemon.bus.call("/org/mtuwatch1", "org.mtuwatch1.Manager", method, *words, timeout=10)

    def link():
        world.space.ip("link add passing type veth peer beyond")
        world.space.ip("link set passing up")
        world.space.ip("link delete passing")

    return {"widened": way, "narrowed": way, "link": link, "Reload": lambda: call("Reload"),
            "CheckAll": lambda: call("CheckAll"), "Describe": lambda: call("Describe"),
            "Probe": lambda: call("Probe", "sa{sv}", HOLE, "0")}


def memory_settled(world, deed):
    deed()
    assert world.wait("the true verdicts", world.right, 60), "not well without trouble"


def memory_learn(world, preloaded, deeds):
    """For each of them: how many allocations after its begin each place is first asked from."""
    memory_begin(world, preloaded, sites=True)
    world.patience = 60
    memory_settled(world, lambda: None)
    work = []
    for name, deed in deeds.items():
        begun = preloaded.get("made")
        memory_settled(world, deed)
        places = {}
        for number, stack in enumerate(preloaded.listed()[begun:preloaded.get("made")], 1):
            places.setdefault(own_place(stack), number)
        print(f"{name}: {preloaded.get('made') - begun} allocations from {len(places)} places")
        work += [((name, place), name, number) for place, number in places.items()]
    world.patience = 5
    assert world.daemon.stop() == 0
    return work


@case("faults memory-running", "allocations fail while the daemon runs and things happen: it goes on")
def memory_running(lab):
    world, preloaded = Troubled(lab), Preloaded(lab)
    deeds = memory_deeds(world)
    if "FAULTS" in os.environ:
        work = share(memory_learn(world, preloaded, deeds))
    else:
        work = [(None, name, 20) for name in ("widened", "narrowed", "link", "Reload")]
    for _, name, number in work:
        for more in (0, 30):
            if world.daemon.process is None:
                world.fresh()
                memory_begin(world, preloaded)
                assert world.wait("the true verdicts", world.right), "not well without trouble"
            failed = preloaded.get("failed")
            world.strike(f"{name}, allocations {number} to {number + more} of it",
                         lambda: memory_strike(preloaded, deeds[name], number, more),  # pylint: disable=W0640
                         lambda: preloaded.get("failed") - failed)  # pylint: disable=W0640
    assert world.told()


def memory_strike(preloaded, deed, number, more):
    made = preloaded.get("made")
    preloaded.fail(made + number, made + number + more)
    deed()
