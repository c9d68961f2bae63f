# SPDX-License-Identifier: LGPL-2.1-or-later
"""What mtuwatchd-alerts(7) prints, so that tests run that and nothing else.

A block is what stands between .nf and .fi. One that names a file in its first lines is that file, any
other is for a shell.
"""

import re

ESCAPES = {"\\-": "-", "\\e": "\\", "\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~", "\\&": ""}
WRITTEN = re.compile(r"\\\(..|\\.")
# groff turns these into signs that no program takes, in some locales and on some systems only
BARE = set("-'`^~")
WIDEST = 80
FILE = re.compile(r"(?:#|//) (/\S+)$")


class Wrong(Exception):
    pass


def plain(line):
    """A literal line as it is printed; raises Wrong where it is not printed everywhere alike."""
    bare = WRITTEN.sub("", line)
    if BARE & set(bare) or line[:1] in (".", "'"):
        raise Wrong(f"not escaped: {line}")
    try:
        text = WRITTEN.sub(lambda found: ESCAPES[found.group()], line)
    except KeyError as unknown:
        raise Wrong(f"unknown escape {unknown} in: {line}") from None
    if len(text) > WIDEST:
        raise Wrong(f"wider than {WIDEST}: {text}")
    return text


class Page:
    """files: text by path. commands: texts by section, in their order."""

    def __init__(self, path):
        self.files = {}
        self.commands = {}
        self.blocks = []
        section = block = None
        with open(path, encoding="utf-8") as lines:
            for line in (line.rstrip("\n") for line in lines):
                if line == ".fi":
                    self._add(section, block)
                    block = None
                elif block is not None:
                    block.append(plain(line))
                elif line == ".nf":
                    block = []
                elif line.startswith((".SH ", ".SS ")):
                    section = line[4:].strip('"')

    def _add(self, section, lines):
        text = "\n".join(lines) + "\n"
        self.blocks.append(text)
        name = next(filter(None, map(FILE.match, lines[:2])), None)
        if name:
            self.files[name.group(1)] = text
        else:
            self.commands.setdefault(section, []).append(text)
