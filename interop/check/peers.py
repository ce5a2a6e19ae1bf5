"""The tools of the score card: how each is told to list the tools of a server or to call one, and what it says."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import install

INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

# What each is told to wait for a response, and when it is killed.
SECONDS = 5
LONGEST = 30

LONGEST_QUOTE = 200
SHORT = 60
# What says that something is wrong, the plainest first.
TROUBLE = [
    re.compile(r"^Error: |\bReason: ", re.MULTILINE),
    re.compile(r"error|fail|closed|timed? ?out|invalid|not found|ENOENT|EACCES", re.IGNORECASE),
]


class Said:
    """What a tool said of a server: its exit code, None if it had to be killed, its words, and those without a result."""

    def __init__(self, code, words, errors):
        self.code, self.words, self.errors = code, words, errors

    def verdict(self, names):
        """`cause` if words that name the cause are there, `trouble` if it fails without them, else `nothing`; and a quote."""
        if names and (found := re.search(names, self.words, re.IGNORECASE)):
            return "cause", quoted(self.words, found.start())
        for trouble in TROUBLE:
            if places := [found.start() for found in trouble.finditer(self.errors)]:
                return "trouble", quoted(self.errors, places[-1])
        return ("nothing", "") if self.code == 0 else ("trouble", "")


def quoted(words, place):
    """The line around this place, shortened; if it is short, with the lines before and after it that belong together."""
    begin, end = words.rfind("\n", 0, place) + 1, words.find("\n", place)
    end = len(words) if end < 0 else end
    if len(words[begin:end].strip()) < SHORT:
        # A line that is indented goes on with the statement before it.
        begins = [0, *(found.end() for found in re.finditer(r"\n(?=[^\s\]})])", words)), len(words) + 1]
        begin = max(each for each in begins if each <= place)
        end = min(each for each in begins if each > place)
    before, after = " ".join(words[begin:place].split()), " ".join(words[place:end].split())
    if len(before) + len(after) > LONGEST_QUOTE:
        before = shortened(before[::-1], max(40, LONGEST_QUOTE - len(after)))[::-1]
        after = shortened(after, LONGEST_QUOTE - len(before))
    gap = " " if words[begin:place][-1:].isspace() else ""
    return " ".join(f"{before}{gap}{after}".split())


def shortened(words, longest):
    return words if len(words) <= longest else f"{words[:longest].rpartition(' ')[0].rstrip()} …"


class Tool:
    """A tool, and its command lines. What it writes to stdout is a result, unless it fails, or `findings` reads it."""

    def __init__(self, name, listing, calling, findings=None):
        self.name, self.listing, self.calling, self.findings = name, listing, calling, findings

    def ask(self, command, call, search, env=None):
        """What it says of the server that this command starts. `search` are folders in front of the PATH."""
        line = self.calling(command, *call) if call else self.listing(command)
        with tempfile.TemporaryDirectory() as home:
            path = ":".join([*map(str, search), os.environ["PATH"]])
            # No colours, no lines broken for a terminal, no word about updates.
            more = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "1000", "FASTMCP_CHECK_FOR_UPDATES": "off"}
            environment = {**(env or os.environ), "HOME": home, "PATH": path, **more}
            code, stdout, stderr = run(line, environment, home)
        stdout = self.findings(stdout) if self.findings else stdout
        everything, errors = plain(f"{stderr}\n{stdout}"), plain(stderr)
        if code != 0:
            return Said(code, everything, everything)
        return Said(code, everything if self.findings else errors, errors)


def run(line, environment, folder):
    """The exit code, None if it had to be killed, and what it wrote."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        streams = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}
        process = subprocess.Popen(line, cwd=folder, env=environment, start_new_session=True, **streams)
        try:
            code = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        return code, *map(beginning, (stdout, stderr))


def beginning(file):
    file.seek(0)
    return file.read(1_000_000).decode(errors="replace")


def plain(words):
    """The words without what differs from run to run and from machine to machine: paths, ports, times."""
    words = "\n".join(message(line) for line in words.splitlines())
    words = re.sub(r"\x1b\[[0-9;]*m", "", words)
    words = re.sub(r"(?<![\w:/])(file://)?(/(?:[^\s/'\"`:]+/)+)", folder, words)
    words = re.sub(r"\b(node|python3)-[\w-]{12,}", r"\1", words)  # a name that mcporter makes of a path
    words = re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT", words)
    words = re.sub(r"\bTCP port \d+", "TCP port PORT", words)
    words = re.sub(r"\b\d+(\.\d+)? ?m?s (?=after the start)", "some time ", words)
    words = re.sub(r"\bafter \d+ ms(?=, before)", "after some time", words)
    return re.sub(r"\b\d+(\.\d+)? ?m?s\b(?= ·)", "", words)


def folder(found):
    """Nothing in place of a folder of this machine; a path in JSON is none."""
    return "" if os.path.isdir(found[2]) else found[0]


def sentences(report):
    """What papertape check says first of each finding. Proofs and remedies, which follow, are left out."""
    try:
        found = json.loads(report)["findings"]
    except ValueError:
        return report
    return "\n".join(f"{finding['severity']} {finding['code']}: {finding['message']}" for finding in found)


def message(line):
    """The message in an error that is written as JSON, or the line."""
    try:
        return json.loads(line)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return line


def tools(papertape):
    """All of them, and the folder to search first for programs."""
    node, hosts, card, python = install.score_card()
    inspector = [node, hosts / INSPECTOR, "--cli"]
    mcporter = [node, card / "node_modules/mcporter/dist/cli.js"]
    fastmcp = [python.parent / "fastmcp"]
    wait = f"{1000 * SECONDS}"

    def check(command, *call):
        # It calls tools by itself.
        return [papertape, "check", "--output", "json", "--timeout", f"{SECONDS}", "--", *command]

    def list_inspector(command):
        return [*inspector, *command, "--method", "tools/list", "--strict", "--connect-timeout", wait]

    def call_inspector(command, tool, arguments):
        given = ["--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
        return [*inspector, *command, "--method", "tools/call", *given, "--connect-timeout", wait]

    def list_mcporter(command):
        return [*mcporter, "list", "--stdio", shlex.join(command), "--exit-code", "--timeout", wait]

    def call_mcporter(command, tool, arguments):
        given = [tool, "--args", json.dumps(arguments)]
        return [*mcporter, "call", "--stdio", shlex.join(command), *given, "--timeout", wait]

    def list_fastmcp(command):
        return [*fastmcp, "list", "--command", shlex.join(command), "--timeout", f"{SECONDS}"]

    def call_fastmcp(command, tool, arguments):
        given = ["--target", tool, "--input-json", json.dumps(arguments)]
        return [*fastmcp, "call", "--command", shlex.join(command), *given, "--timeout", f"{SECONDS}"]

    everyone = [
        Tool("papertape check", check, check, findings=sentences),
        Tool("MCP Inspector 2.12.0", list_inspector, call_inspector),
        Tool("mcporter 0.12.3", list_mcporter, call_mcporter),
        Tool("fastmcp 4.1.2", list_fastmcp, call_fastmcp),
    ]
    return everyone, [node.parent]
