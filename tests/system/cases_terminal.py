# SPDX-License-Identifier: LGPL-2.1-or-later
"""What people see and type: screens in a real terminal (tmux), the pager, a password that is asked
for, completions of the shells."""

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import shlex
import shutil
import struct
import subprocess
import termios
import time
import unicodedata

import gallery
from cases_ctl import CTL, ctl, document
from world import (Skip, bus_call, expect, expect_equal, file_write, run, service_watching, wait_for)

CODES = "\033\\[[0-9;?]*[A-Za-z]"


def on_terminal(width, *arguments, env=None):
    """What it draws on a terminal of this width, colours and all."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    settings = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    child = subprocess.Popen([CTL, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
                             env={**settings, "TERM": "xterm", **(env or {})},
                             start_new_session=True)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(ours, 65536):
            seen += chunk
    os.close(ours)
    child.wait(60)
    return seen.decode().replace("\r\n", "\n")


# ---- a screen

TMUX_CONFIG = "/run/screen.conf"
TMUX = ("tmux", "-u", "-L", "mtuwatch-test", "-f", TMUX_CONFIG)
LINES = 2000


class Screen:
    """A real terminal of so many columns, with one command in it."""

    def __init__(self, width, *words):
        self.done = f"/run/screen-{width}-done"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.done)
        command = words[0] if len(words) == 1 else shlex.join(words)
        run(*TMUX, "new-session", "-d", "-x", str(width), "-y", str(LINES), "-s", str(width),
            f"unset NO_COLOR; export LANG=C.UTF-8 TERM=screen; {command}; touch {self.done}; "
            "exec sleep 600")
        self.name = str(width)

    def __enter__(self):
        return self

    def lines(self):
        """What is on it; fails where the terminal had to wrap a line."""
        drawn = run(*TMUX, "capture-pane", "-p", "-t", self.name).rstrip("\n").split("\n")
        joined = run(*TMUX, "capture-pane", "-p", "-J", "-t", self.name).rstrip("\n").split("\n")
        wrapped = [line.rstrip() for line in joined if line.rstrip() not in
                   [one.rstrip() for one in drawn]]
        expect(not wrapped, f"wrapped by a terminal of {self.name} columns: {wrapped}")
        return drawn

    def finished(self):
        wait_for("the command's end", lambda: os.path.exists(self.done))
        return self.lines()

    def __exit__(self, *_exception):
        subprocess.run([*TMUX, "kill-session", "-t", self.name], check=False)


def columns(text):
    """How wide it is on a screen."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def slice_of(line, begin, end):
    """What stands in these columns; fails where a character lies across the border."""
    seen, at = "", 0
    for character in line:
        width = columns(character)
        if begin <= at and (end is None or at < end):
            seen += character
            expect(end is None or at + width <= end, f"across column {end}: {line!r}")
        at += width
    return seen.strip()


def table_read(lines):
    """Rows of a table, long cells put together again, as dictionaries by title."""
    titles = re.findall(r"\S+", lines[0])
    begins = [lines[0].index(title) for title in titles]
    rows = []
    for line in lines[1:]:
        if not line.strip():
            break
        cells = [slice_of(line, begin, end) for begin, end in zip(begins, [*begins[1:], None])]
        # what goes on in the next line has no size and no verdict there
        if rows and not any(cells[titles.index(title)] for title in ("VERDICT", "MTU")
                            if title in titles):
            rows[-1] = [above + below for above, below in zip(rows[-1], cells)]
        else:
            rows.append(cells)
    return [dict(zip(titles, row)) for row in rows]


def sizes_of(path):
    size = path["PathMTU"]
    if path["Direction"] == "return" and path["ReturnMTU"]:
        size = path["ReturnMTU"]
    return f"{size or '-'}/{path['ExpectedMTU']}" if path["ExpectedMTU"] else str(size or "-")


def paths_of(described):
    return sorted((peer["Name"], path["Address"] or "-", path["Interface"] or "-", sizes_of(path),
                   path["Verdict"]) for peer in described["Peers"] for path in peer["Paths"])


def sentences_in(lines):
    """What is wrapped and indented, as one text."""
    return " ".join(" ".join(line.split()) for line in lines)


def list_check(lines, described):
    shown = sorted((row["PEER"], row["ADDRESS"], row["LINK"], row["PASSES/OF"], row["VERDICT"])
                   for row in table_read(lines))
    expect_equal("rows", shown, paths_of(described))
    told = sentences_in(lines)
    for peer in described["Peers"]:
        if peer["Severity"] in ("warning", "critical"):
            expect(f"{peer['Severity']}: {peer['Text']}" in told, f"not told: {peer['Text']}")


def links_check(lines, described):
    kind, mtu = lines[0].index("KIND"), lines[0].index("MTU") + len("MTU")
    rows = lines[1:lines.index("") if "" in lines else None]
    # numbers end below the end of their title
    shown = {slice_of(line, 0, kind): slice_of(line, kind, mtu).split()[-1] for line in rows}
    expect_equal("links", shown, {link["Name"]: str(link["MTU"]) for link in described["Links"]})


def status_check(lines, described):
    told = sentences_in(lines)
    expect(f"Peers: {len(described['Peers'])}, " in told, told)
    for peer in described["Peers"]:
        if peer["Severity"] in ("warning", "critical"):
            expect(peer["Text"] in told, f"not told: {peer['Text']}")


def peer_status_check(lines, described):
    told = sentences_in(lines)
    for peer in described["Peers"]:
        for path in peer["Paths"]:
            expect(f"Verdict: {path['Verdict']}" in told, f"{peer['Name']}: {told}")
            if path["PathMTU"] and path["ExpectedMTU"]:
                expect(f"{path['PathMTU']} of {path['ExpectedMTU']} bytes" in told,
                       f"{peer['Name']}: {told}")


def picture_check(lines, name):
    """Numbers under their titles, steps as the document has them."""
    path = document("explain", name)["Paths"][0]
    place = next((i for i, line in enumerate(lines) if line.split() == ["MTU", "ping", "MSS"]), None)
    expect(place is not None, f"no picture of {name}: {lines}")
    ends = [lines[place].index(title) + len(title) for title in ("MTU", "ping", "MSS")]
    for step, line in zip(path["Steps"], lines[place + 1:]):
        begin, numbers = ends[0] - 7, []
        for end in ends:
            numbers.append(slice_of(line, begin, end))
            begin = end
        expect_equal(f"{name}: {step['Name']}", numbers,
                     [str(step[key] or "?") for key in ("MTU", "ICMPPayload", "MSS")])
        expect(line.strip().startswith(step["Name"][:20]), line)
        expect_equal(f"{name}: {step['Name']} is narrow", "<== narrow" in line, step["Narrow"])
    told = ageless(sentences_in(lines))
    for key in ("Evidence", "Diagnosis"):
        for sentence in path[key]:
            expect(ageless(sentence) in told, f"{name}: not told: {sentence}")
    for action in path["Actions"]:
        expect(action["Text"] in told, f"{name}: not told: {action['Text']}")
        for command in action["Commands"]:
            expect(" ".join(command.split()) in commands_in(lines), f"cannot be pasted: {command}")


def explanations_check(width, names):
    commands = [f"echo === {name}; {CTL} --no-pager explain {name}" for name in names]
    with Screen(width, "; ".join(commands)) as screen:
        lines = screen.finished()
    begins = [lines.index(f"=== {name}") for name in names]
    for name, begin, end in zip(names, begins, [*begins[1:], None]):
        picture_check(lines[begin + 1:end], name)


def ageless(text):
    """Time goes by between two looks."""
    return re.sub(r"\d+(s|min) ago", "ago", text)


def commands_in(lines):
    """What a shell makes of what is pasted: a backslash at the end of a line goes on in the next."""
    return [" ".join(line.split()) for line in re.sub(r"\\\n +", "", "\n".join(lines)).split("\n")]


def screen_show(lines, title):
    print(f"# {title}", *(f"# {line}" for line in lines), sep="\n", flush=True)


def monitor_check(width):
    """An event by a long name, drawn without wrapping, with the words of the bus."""
    name = gallery.LONG_PEER
    with Screen(width, CTL, "monitor") as screen:
        wait_for("the monitor", lambda: "Ctrl-C" in sentences_in(screen.lines()))

        def changed():
            for mtu in ("8000", "9000"):
                run("ip", "link", "set", gallery.WIDE_LINK, "mtu", mtu)
            return f"link {gallery.WIDE_LINK}: MTU 9000, up" in sentences_in(screen.lines())
        wait_for("the link", changed)
        run("ip", "netns", "exec", "san", "nft", "flush", "chain", "inet", "gallery", "input")
        text = peer_text(name, "consistent")
        wait_for("the verdict", lambda: f"ok: {text}" in sentences_in(screen.lines()))
        subprocess.run(["ip", "netns", "exec", "san", "nft", "-f", "-"], input=gallery.FILTER, text=True,
                       check=True)
        text = peer_text(name, "black-hole")
        wait_for("the verdict", lambda: f": {text}" in sentences_in(screen.lines()))
        lines = screen.lines()
        for line in lines[1:]:
            expect(re.match(r"\d\d:\d\d:\d\d \S+: |   ", line), line)
        screen_show(lines, f"monitor at {width} columns")


def peer_text(name, verdict):
    """What is told of it once it is this."""
    wait_for(f"{name} {verdict}", lambda: bus_call("Check", "s", name)[0]["Verdict"]["data"] == verdict, 60)
    return next(peer["Text"] for peer in described()["Peers"] if peer["Name"] == name)


def described():
    return json.loads(bus_call("Describe")[0])


def manners_check():
    """Colours on a terminal alone, unless NO_COLOR; progress of long work, which leaves nothing behind."""
    for verb in (("list",), ("status",), ("status", gallery.LONG_PEER, "eth1"), ("links",)):
        expect("\033[" in on_terminal(80, "--no-pager", *verb), f"no colour in {verb} on a terminal")
        expect("\033[" not in ctl(*verb, status=2 if verb[0] == "status" else 0),
               f"colour in {verb} in a pipe")
    expect("\033[1;31mblack-hole" in on_terminal(80, "--no-pager", "list"), "no red")
    expect("\033[" not in on_terminal(80, "--no-pager", env={"NO_COLOR": "1"}), "NO_COLOR is ignored")
    # a result of just now takes no time
    drawn = wait_for("a progress line", lambda: "checking" in (
        seen := on_terminal(80, "check", "absent")) and seen)
    expect("\rchecking" in re.sub(CODES, "", drawn), drawn)
    expect("checking" not in drawn.split("\033[K")[-1], drawn)


def case_screens():
    """screens of 80 and 120 columns in a terminal: no line wrapped, columns line up, the bus's words"""
    for tool in ("tmux", "nft"):
        if not shutil.which(tool):
            raise Skip(f"not installed: {tool}")
    # its server outlives each screen
    file_write(TMUX_CONFIG, "set-option -g exit-empty off\n")
    with gallery.opened():
        names = list(gallery.VERDICTS)
        for width in (80, 120):
            for words, check in ((("list",), list_check), (("links",), links_check),
                                 (("status",), status_check),
                                 (("status", *names), peer_status_check)):
                now = described()
                with Screen(width, CTL, "--no-pager", *words) as screen:
                    lines = screen.finished()
                check(lines, now)
                if words in (("list",), ("status",)):
                    screen_show(lines, f"{words[0]} at {width} columns")
            explanations_check(width, names)
            monitor_check(width)
        manners_check()
    subprocess.run([*TMUX, "kill-server"], check=False)


def case_ctl_paged():
    """on a terminal the pager gets it; its leaving early is no error"""
    service_watching()
    mark = "/run/paged"
    env = {"SYSTEMD_PAGER": f"tee {mark}"}
    expect("consistent" in on_terminal(80, "list", env=env), "nothing was shown")
    with open(mark, encoding="utf-8") as paged:
        expect("consistent" in paged.read(), "the pager got nothing")
    os.unlink(mark)
    on_terminal(80, "list", "--no-pager", env=env)
    expect(not os.path.exists(mark), "--no-pager was ignored")
    on_terminal(80, "list", env={"SYSTEMD_PAGER": "true"})


def case_completions():
    """bash, zsh and fish offer verbs and options, and the names of peers and links that there are"""
    service_watching()
    offered = 0
    if shutil.which("fish"):
        offered += 1
        for line, wanted in (("mtuwatchctl che", "check"), ("mtuwatchctl check s", "san"),
                             ("mtuwatchctl status e", "eth1"),
                             ("mtuwatchctl probe --method t", "tcp"), ("mtuwatchd --on", "--once"),
                             ("mtuwatchd --once --method t", "tcp")):
            seen = run("env", "XDG_DATA_DIRS=/usr/local/share:/usr/share", "fish", "-c",
                       f"complete -C '{line}'")
            expect(wanted in [one.split("\t")[0] for one in seen.splitlines()], f"{line}: {seen}")
    if os.path.exists("/usr/share/bash-completion/bash_completion"):
        offered += 1
        for words, wanted in (("mtuwatchctl che", "check"), ("mtuwatchctl check s", "san"),
                              ("mtuwatchctl status e", "eth1"), ("mtuwatchctl -H db wait s", "san"),
                              ("mtuwatchctl check --na", "--nagios"), ("mtuwatchd --on", "--once"),
                              ("mtuwatchd --once --fl", "--flows"), ("mtuwatchd --once --method t", "tcp"),
                              ("mtuwatchd --once --interface e", "eth1")):
            program = words.split()[0]
            seen = run("bash", "-c", f"""
                . /usr/share/bash-completion/bash_completion
                _completion_loader {program}
                COMP_LINE='{words}' COMP_POINT={len(words)} COMP_WORDS=({words})
                COMP_CWORD={len(words.split()) - 1}
                _{program}; printf '%s\\n' "${{COMPREPLY[@]}}" """)
            expect(wanted in seen.split(), f"{words}: {seen}")
    if shutil.which("zsh"):
        offered += 1
        for words, wanted in (("mtuwatchctl che", "check"), ("mtuwatchctl check s", "san"),
                              ("mtuwatchctl status e", "eth1"),
                              ("mtuwatchd --once --method=t", "--method=tcp")):
            expect(wanted in zsh_line(words), f"{words}: {zsh_line(words)!r}")
    if offered == 0:
        raise Skip("not installed: bash-completion, fish, zsh")


PASSWORD = "correct horse"


def case_password():
    """on a terminal polkit's agent asks for a password where one is needed, and for no one else"""
    if not shutil.which("pkttyagent"):
        raise Skip("not installed: pkttyagent")
    service_watching()
    subprocess.run(["chpasswd"], input=f"root:{PASSWORD}\n", text=True, check=True)
    for words in (("reload",), ("check", "san"), ("probe", "192.0.2.11")):
        status, seen = as_nobody(PASSWORD, *words)
        expect("Authentication is required" in seen or "AUTHENTICATING" in seen, seen)
        expect(status == 0, f"{words}: exit {status}: {seen}")
        expect(not pgrep("pkttyagent"), "the agent is left")
    status, seen = as_nobody("wrong", "reload")
    expect(status == 77 and "not authorised" in seen, f"a wrong password: exit {status}: {seen!r}")
    for words in (("--no-ask-password", "reload"), ("list",), ("wait", "san", "--timeout=20s")):
        status, seen = as_nobody("", *words)
        expect("AUTHENTICATING" not in seen, seen)
        expect_equal(f"exit status of {words}", status, 77 if "reload" in words else 0)


def pgrep(name):
    return subprocess.run(["pgrep", "-x", name], stdout=subprocess.PIPE, check=False).stdout


def as_nobody(password, *words):
    """Exit status and screen of a user without rights, who types this password when asked."""
    pid, ours = pty.fork()
    if pid == 0:
        os.execvpe("setpriv", ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", CTL,
                               *words], {**os.environ, "TERM": "xterm", "LANG": "C.UTF-8"})
    seen, typed, end = "", 0, time.monotonic() + 60
    with contextlib.suppress(OSError):  # the other end is closed
        while time.monotonic() < end and select.select([ours], [], [], 30)[0]:
            seen += os.read(ours, 4096).decode(errors="replace")
            if seen.count("Password: ") > typed:
                typed += 1
                # what is typed before is thrown away
                wait_for("no echo", lambda: not termios.tcgetattr(ours)[3] & termios.ECHO)
                os.write(ours, f"{password}\n".encode())
    os.close(ours)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen


def zsh_line(words):
    """The line after the tabulator key, in a real zsh on a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(["zsh", "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs,
                             env={**os.environ, "TERM": "dumb", "PS1": ""}, start_new_session=True)
    os.close(theirs)
    seen = ""
    try:
        os.write(ours, b"fpath+=({/usr,/usr/local}/share/zsh/site-functions); autoload -U compinit; "
                 b"compinit -u -D; PS1='rea''dy> '\n")
        end = time.monotonic() + 30
        sent = False
        while time.monotonic() < end and not (sent and re.search(r"\bdone\b", seen)):
            seen += os.read(ours, 4096).decode(errors="replace")
            if not sent and "ready> " in seen:
                # what the line has become is echoed with the next words
                os.write(ours, f"echo {words}\t".replace("echo ", "", 1).encode() + b" # done")
                sent, seen = True, ""
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    return re.sub(CODES, "", seen)


CASES = (case_screens, case_ctl_paged, case_password, case_completions)
