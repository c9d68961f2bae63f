#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""papers.py MTUWATCHD MTUWATCHCTL: README, manual, help and completions name what is there, all of
it and nothing else. Reads the sources; speaks TAP."""

import itertools
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ("mtuwatchd.8", "mtuwatchctl.1", "mtuwatchd.conf.5", "org.mtuwatch1.5", "mtuwatchd-alerts.7")
TWICE_WORDS = 12  # so many words in a row are a sentence that a page says twice


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def page(name):
    """A page with its macros, without the escapes of troff."""
    text = read("man", name)
    for seen, meant in (("\\-", "-"), ("\\(dq", '"'), ("\\~", " "), ("\\e", "\\")):
        text = text.replace(seen, meant)
    return re.sub(r"\\f[A-Z]", "", text)


def section(text, title):
    return re.split(r"^\.SH ", text.split(f"\n.SH {title}\n", 1)[1], maxsplit=1, flags=re.M)[0]


def part(file, begin, end="\n}\n"):
    return read(*file.split("/")).split(begin, 1)[1].split(end, 1)[0]


def same(what, first, second):
    first, second = set(first), set(second)
    return [f"{what}: only {where}: {', '.join(sorted(some))}"
            for where, some in (("in the first", first - second), ("in the second", second - first))
            if some]


def switches_of_run():
    """./run: its switches are those of its help and of README"""
    tests = part("run", "run_tests()\n")
    there = re.findall(r"--[a-z]+", "\n".join(re.findall(r"^ +(--.*)\)", tests, flags=re.M)))
    usage = re.findall(r"^ {12}(--[a-z]+)", part("run", "usage()\n"), flags=re.M)
    return same("run, its help", there, usage) + \
        same("run, README", there, re.findall(r"/run test (--[a-z]+)", read("README.md")))


def completed(program):
    """Long options by shell."""
    bash = re.sub(r"--auto-start=no", "", read("conf", "completions", f"{program}.bash"))
    return {
        "bash": re.findall(r"--[a-z-]+", "\n".join(re.findall(r"options\+?='(.*)'", bash))),
        "zsh": re.findall(r"--[a-z-]+(?==?[\[}])", read("conf", "completions", f"_{program}")),
        "fish": ["--" + name for name in re.findall(r"^complete .*? -l ([a-z-]+)", read(
            "conf", "completions", f"{program}.fish"), flags=re.M)],
    }


def headings(text):
    """What has an entry of its own."""
    return re.findall(r"^\.TP\n(.*)", text, flags=re.M)


def options_of(program, manual):
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    there = re.findall(r"^ {2}(?:-\w, )?(--[a-z-]+)", done.stdout, flags=re.M)
    told = re.findall(r"--[a-z-]+", "\n".join(headings(section(page(manual), "OPTIONS"))))
    name = os.path.basename(program)
    wrong = same(f"{name} --help, {manual}", there, told)
    for shell, options in completed(name).items():
        wrong += same(f"{name} --help, completion for {shell}", there, options)
    return wrong


def options_of_the_daemon():
    """mtuwatchd: help, manual and completions have the same options"""
    return options_of(sys.argv[1], "mtuwatchd.8")


def options_of_the_tool():
    """mtuwatchctl: help, manual and completions have the same options"""
    return options_of(sys.argv[2], "mtuwatchctl.1")


def verbs():
    """mtuwatchctl: help, manual and completions have the same verbs"""
    done = subprocess.run([sys.argv[2], "--help"], capture_output=True, text=True, check=True)
    there = re.findall(r"^ {2}([a-z]+) ", done.stdout, flags=re.M)
    manual = "\n".join(headings(section(page("mtuwatchctl.1"), "VERBS")))
    wrong = same("mtuwatchctl --help, manual", there, re.findall(r"^(?:\.B )?([a-z]+)", manual, flags=re.M))
    for name, pattern in (("mtuwatchctl.bash", r"verbs='(.*)'"), ("mtuwatchctl.fish", r"-l verbs (.*)"),
                          ("_mtuwatchctl", r"(?s)    verbs=\(\n(.*?)\n    \)")):
        told = re.search(pattern, read("conf", "completions", name)).group(1)
        told = re.findall(r"'(\w+):", told) if name.startswith("_") else told.split()
        wrong += same(f"mtuwatchctl --help, {name}", there, told)
    return wrong


def folders():
    """README: an installation is built in a folder that ./run has not set up otherwise before"""
    kinds = re.findall(r"build\+=(-[a-z]+)", part("run", "build_folder()\n"))
    taken = {"build" + "".join(some) for count in range(len(kinds) + 1)
             for some in itertools.combinations(kinds, count)}
    told = re.findall(r"^ +meson (?:setup|install -C) (\S+)", read("README.md"), flags=re.M)
    return [f"{name}: is ./run's" for name in told if name in taken] + \
        same("set up, installed", told[:1], told[1:])


def properties():
    """org.mtuwatch1(5): properties, methods and signals are those of the XML, with their types"""
    wrong = []
    for interface in ("Manager", "Peer", "Link"):
        root = xml.etree.ElementTree.fromstring(read("conf", f"org.mtuwatch1.{interface}.xml"))
        heads = headings(section(page("org.mtuwatch1.5"), f"org.mtuwatch1.{interface}"))
        calls = [head for head in heads if re.match(r"\w+\(", head)]
        told = [one.strip(" *") for head in heads if head not in calls for one in head.split(",")]
        wrong += same(f"{interface}, its properties in the manual",
                      [f"{one.get('name')} {one.get('type')}" for one in root.iter("property")], told)
        wrong += same(f"{interface}, its calls in the manual",
                      [one.get("name") for kind in ("method", "signal") for one in root.iter(kind)],
                      [call.split("(")[0] for call in calls])
    return wrong


def findings():
    """org.mtuwatch1(5), catalog: every finding is explained"""
    there = re.findall(r'return "([a-z0-9-]+)"', part("daemon/face/words.c", "*words_finding("))
    told = re.findall(r"^\.TP\n\.B (\S+)$", section(page("org.mtuwatch1.5"), "FINDINGS"), flags=re.M)
    catalog = set(re.findall(r"^([a-z0-9-]+)", read("systemd", "mtuwatchd.catalog"), flags=re.M))
    return same("words, manual", there, told) + same("words, catalog", there, catalog & set(there))


def errors():
    """org.mtuwatch1(5): every error that has a name of its own is explained"""
    folder = os.path.join(ROOT, "daemon", "face")
    sources = "".join(read("daemon", "face", name) for name in os.listdir(folder)
                      if re.fullmatch(r"bus.*\.c", name))
    told = re.findall(r"^\.TP\n\.B (org\.mtuwatch1\.\w+)$", section(page("org.mtuwatch1.5"), "ERRORS"),
                      flags=re.M)
    return same("bus, manual", re.findall(r'BUS_NAME "\.([A-Z]\w+)"', sources),
                [name.rsplit(".", 1)[1] for name in told])


def fields():
    """mtuwatchd(8): every field of the journal is listed"""
    sources = "".join(read("daemon", "face", name) for name in ("journal.c", "journal_clamp.c"))
    return same("journal, manual", re.findall(r'"(MTUWATCH_\w+)"', sources),
                re.findall(r"MTUWATCH_\w+", page("mtuwatchd.8")))


def messages():
    """mtuwatchd-alerts(7): every MESSAGE_ID is listed"""
    told = section(page("mtuwatchd-alerts.7"), "MESSAGES")
    return same("messages, manual", re.findall(r'"([0-9a-f]{32})"', read("daemon", "face", "messages.h")),
                re.findall(r"[0-9a-f]{32}", told))


def metrics():
    """mtuwatchd.conf(5): every metric is explained"""
    there = re.findall(r'\{"(mtuwatchd_\w+)"', read("daemon", "face", "metrics_text.c"))
    return same("metrics, manual", there,
                re.findall(r"\bmtuwatchd_[a-z_]+", section(page("mtuwatchd.conf.5"), "METRICS")))


def said_twice(text):
    words = re.sub(r"^\.nf$.*?^\.fi$", "", text, flags=re.M | re.S)
    words = re.sub(r"^\.[a-z]+.*|^\.[A-Z]+|\"", "", words, flags=re.M).split()
    seen, twice = set(), []
    for at in range(len(words) - TWICE_WORDS + 1):
        run = " ".join(words[at:at + TWICE_WORDS])
        twice += [run] if run in seen else []
        seen.add(run)
    return twice[:1]


def nothing_twice():
    """manual: no page says a sentence twice"""
    return [f"{name}: {run}" for name in PAGES for run in said_twice(page(name))]


CHECKS = (switches_of_run, options_of_the_daemon, options_of_the_tool, verbs, folders, properties,
          findings, errors, fields, messages, metrics, nothing_twice)


def main():
    print(f"1..{len(CHECKS)}")
    failed = 0
    for number, check in enumerate(CHECKS, 1):
        wrong = check()
        failed += bool(wrong)
        print(f"{'not ok' if wrong else 'ok'} {number} - {check.__doc__}")
        for one in wrong:
            print(f"# {one}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
