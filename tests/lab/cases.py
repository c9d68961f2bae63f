# SPDX-License-Identifier: LGPL-2.1-or-later
"""The list of cases, and what several of them assert."""

import collections

from daemon import Daemon, brief

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


def black_hole(daemon, name, size, **more):
    """Found by echo alone: the number exact, the direction open, not called confirmed."""
    state = daemon.wait_peer(name, Verdict="black-hole", PathMTU=size, **more)
    for key, value in (("Severity", "warning"), ("Confirmed", False), ("Direction", "unknown"),
                       ("Router", "")):
        assert state[key] == value, f"{key} is {state[key]!r}: {brief(state)}"
    return state


def reduced(daemon, name, size, router, severity="notice"):
    state = daemon.wait_peer(name, Verdict="reduced", PathMTU=size)
    for key, value in (("Severity", severity), ("Direction", "forward"), ("Router", router),
                       ("Locus", f"at {router}")):
        assert state[key] == value, f"{key} is {state[key]!r}: {brief(state)}"
    return state


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
