# SPDX-License-Identifier: LGPL-2.1-or-later
"""The list of cases, and what several of them assert."""

import collections

from daemon import Daemon, brief, config

Case = collections.namedtuple("Case", "name title function arguments")
ALL = []


def case(name, title, *variants):
    """Registers a case, once for each variant (an address family, say), which is its argument."""
    def register(function):
        for variant in variants or (None,):
            full = name if variant is None else f"{name} {variant}"
            ALL.append(Case(full, title, function, () if variant is None else (variant,)))
        return function
    return register


def start(network, space, text, **options):
    daemon = Daemon(network, space, text, **options)
    network.daemons.append(daemon)
    return daemon


def equal(what, value, wanted):
    assert value == wanted, f"{what} is {value!r}, not {wanted!r}"


def consistent(daemon, name, size, **more):
    """The peer is consistent at this size, without a fault's fields."""
    return daemon.wait_peer(name, Verdict="consistent", Severity="ok", PathMTU=size,
                            Direction="", Locus="", Router="", **more)


def holds(state, **wanted):
    for key, value in wanted.items():
        assert state[key] == value, f"{key} is {state[key]!r}, not {value!r}: {brief(state)}"
    return state


def black_hole(daemon, name, size, severity="critical", direction="forward", **more):
    """The number exact, and borne out by more than echo when it is announced."""
    state = daemon.wait_peer(name, **{"Verdict": "black-hole", "PathMTU": size, **more})
    return holds(state, Severity=severity, Confirmed=True, Direction=direction, Router="")


def suspected_hole(daemon, name, size, **more):
    """Found by echo alone: the direction open, not called confirmed."""
    state = daemon.wait_peer(name, Verdict="black-hole", PathMTU=size, **more)
    return holds(state, Severity="warning", Confirmed=False, Direction="unknown", Router="",
                 ReturnMTU=0)


def reduced(daemon, name, size, router, severity="notice"):
    state = daemon.wait_peer(name, Verdict="reduced", PathMTU=size)
    return holds(state, Severity=severity, Direction="forward", Router=router,
                 Locus=f"at {router}")


def one_alert(daemon, name, verdict=None):
    """Exactly one record at warning or above about this peer, with the verdict's fields."""
    daemon.wait(f"an alert of {name}", lambda: daemon.alerts(name))
    alerts = daemon.alerts(name)
    equal(f"number of alerts about {name}", len(alerts), 1)
    if verdict:
        equal("MTUWATCH_VERDICT", alerts[0].get("MTUWATCH_VERDICT"), verdict)
    assert len(alerts[0].get("MESSAGE_ID", "")) == 32, alerts[0]
    return alerts[0]


def silent(daemon, name=None):
    """No record at warning or above so far."""
    alerts = daemon.alerts(name)
    assert not alerts, [r.get("MESSAGE") for r in alerts]


def recovered(daemon, name):
    """One record below warning that tells of the good verdict."""
    found = daemon.wait(f"recovery of {name}",
                        lambda: [r for r in daemon.told(name, MTUWATCH_VERDICT="consistent")
                                 if int(r["PRIORITY"]) > 4
                                 and r.get("MTUWATCH_VERDICT_BEFORE") != "unknown"])
    equal(f"number of recoveries of {name}", len(found), 1)


def never(daemon, name, *verdicts):
    """None of these was ever announced for the peer."""
    seen = [after for _, after in daemon.verdicts(name)]
    assert not set(seen) & set(verdicts), f"{name}: {seen}"


def findings(state, *ids):
    """The findings of these ids."""
    return [f for f in state["Findings"] if f[0] in ids]


def responder(network, space):
    """A daemon that answers other ones; there when this returns."""
    daemon = start(network, space, config(Responder="yes"), bus=False, journal=False)
    daemon.wait("the responder", lambda: space.listens(8899))
    return daemon


def only_echo(space, table="only_echo"):
    """This host says nothing to TCP and UDP."""
    space.filter(table, ["meta l4proto { tcp, udp } drop"])


def no_echo(space, table="no_echo"):
    space.filter(table, ["icmp type echo-request drop", "icmpv6 type echo-request drop"])


def no_large_echo(space, size, table="no_large_echo"):
    """Echo requests above this size are dropped, nothing else is."""
    space.filter(table, [f"icmp type echo-request meta length > {size} drop",
                         f"icmpv6 type echo-request meta length > {size} drop"],
                 hook="input", priority=0)
