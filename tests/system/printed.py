# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command lines that README and the manual print: those of their examples, and those within a
sentence. Reads pages; runs nothing."""

import re

PROGRAMS = {"./run", "apt-get", "busctl", "cat", "chgrp", "chmod", "chown", "cp", "curl", "dpkg",
            "dpkg-buildpackage", "echo", "ethtool", "getent", "ifup", "install", "mkdir", "usermod",
            "ip", "iperf3", "iptables-save", "journalctl", "jq", "meson", "mount", "mtuwatchctl", "mtuwatchd",
            "netplan", "nft", "ninja", "nmcli", "ping", "ssh", "sudo", "sysctl", "systemctl", "systemd-analyze",
            "tests/bench/bench.py", "tracepath"}
ASSIGNMENT = re.compile(r"[A-Z_]+=\S* ")


def command_of(line):
    """The command in a line, without its comment and prompt; None where there is none."""
    line = re.sub(r"\s{2,}# .*|^\$ |^host# ", "", line.strip()).strip()
    words = ASSIGNMENT.sub("", line).split()
    return line if words and words[0] in PROGRAMS else None


def joined(lines):
    """Lines that go on in the next one, in one."""
    return re.sub(r"\\\n\s*", "", "\n".join(lines)).split("\n")


def found(lines):
    commands = (command_of(line) for line in lines)
    return [command for command in commands if command]


# ---- Markdown

def of_markdown(text):
    blocks = [line[4:] for line in text.split("\n") if line.startswith("    ")]
    spans = [span for span in re.findall(r"`([^`\n]+)`", re.sub(r"^    .*$", "", text, flags=re.M))
             if " " in span]
    return found(joined(blocks)) + found(spans)


# ---- roff

PLAIN = (("\\-", "-"), ("\\e", "\\"), ("\\(dq", '"'), ("\\~", " "), ("\\|", ""), ("\\&", ""))


def unescaped(text):
    for seen, meant in PLAIN:
        text = text.replace(seen, meant)
    return re.sub(r"\\f[A-Z]", "", text)


def unquoted(arguments):
    """What a macro prints of its arguments, which are set without blanks between them."""
    parts = re.findall(r'"([^"]*)"|(\S+)', arguments)
    return [quoted or bare for quoted, bare in parts]


def of_manual(text):
    blocks, spans, inside, indented, section = [], [], False, False, ""
    for line in text.split("\n"):
        if line.startswith((".nf", ".fi")):
            inside = line.startswith(".nf")
        elif line.startswith((".RS", ".RE")):
            indented = line.startswith(".RS")
        elif line.startswith(".SH "):
            section = line[4:]
        elif section in ("NAME", "SYNOPSIS"):
            continue
        elif line.startswith((".B ", ".I ")):
            spans.append(unescaped(line[3:]).strip('"'))
        elif line.startswith((".BR ", ".RB ", ".IR ", ".BI ", ".RI ")):
            spans += [unescaped(part) for part in unquoted(line[4:]) if " " in part]
        elif (inside or indented) and not line.startswith("."):
            blocks.append(unescaped(line))
        elif not line.startswith("."):
            spans += re.findall(r'"([^"\n]+ [^"\n]+)"', unescaped(line))
    spans = [span for span in spans if " " in span]
    return found(joined(blocks)) + found(spans)


def commands_in(name, text):
    return of_markdown(text) if name.endswith(".md") else of_manual(text)
