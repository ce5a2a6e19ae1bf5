"""papertape and one foreign program: what they are told to do, and what is compared."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

from served import NotServed

MODERN = "2026-07-28"
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]

# A slow machine must not change which revision is chosen, and nothing may hang for ever.
TIMEOUT = ("--probe", "60", "--timeout", "120")
LONGEST = 180

# SDKs hand HOME on to a server that they start, and not this: without it all have the same key for the index of a blog.
os.environ.pop("XDG_DATA_HOME", None)


class Failed(Exception):
    """A pair that did not do what it should."""


class Pair:
    """papertape and one foreign program, and the revision they must agree on."""

    def __init__(self, name, revision, check):
        self.name, self.revision, self.check = name, revision, check
        self.said = []  # by the last command: what was printed and what crossed
        self.server = None  # one that runs beside the commands

    def run(self):
        """Why the pair fails, or nothing."""
        try:
            self.check(self)
        except (Failed, NotServed) as why:
            return str(why)
        except (KeyError, TypeError) as why:
            return f"not the document that was expected: {why!r}"

    def evidence(self):
        """What to show when the pair has failed."""
        return self.said + (self.server.evidence() if self.server else [])

    def program(self, *command, status=0):
        """Runs a program that must print one JSON document. TAPE in the command stands for the path of a tape."""
        with tempfile.TemporaryDirectory() as folder:
            # Files, not pipes: what outlives the program cannot keep us waiting for the end of a pipe.
            out, err, tape = (Path(folder, name) for name in ("stdout", "stderr", "tape"))
            command = [str(tape if part == "TAPE" else part) for part in command]
            self.said = [f"$ {' '.join(command)}"]
            with out.open("w") as stdout, err.open("w") as stderr:
                streams = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr}
                try:
                    got = subprocess.run(command, **streams, timeout=LONGEST).returncode
                except subprocess.TimeoutExpired:
                    got = f"none within {LONGEST} seconds"
            # The TypeScript 2.x client starts a server for its probe alone; that tape became the old one.
            files = (out, err, Path(f"{tape}.old"), tape)
            said = {file.name: file.read_bytes().decode(errors="replace") for file in files if file.exists()}
        self.said += [f"{name}:\n{words}" for name, words in said.items()]
        self.equal("exit status", got, status)
        try:
            return json.loads(said["stdout"]), said["stderr"]
        except ValueError:
            raise Failed("stdout is not one JSON document") from None

    def equal(self, what, got, wanted):
        if got != wanted:
            got, wanted = (json.dumps(value, ensure_ascii=False) for value in (got, wanted))
            raise Failed(f"{what}\n  is        {got}\n  should be {wanted}")


class Papertape:
    """papertape's client; over stdio every command starts the server anew."""

    def __init__(self, pair, binary, server, signature=None):
        self.pair, self.binary, self.server = pair, binary, server  # a Started or a Served that runs
        self.signature = signature  # what the server adds to every modern result of a tool

    def ask(self, command, *words, revision=None, status=0):
        options = ["--output", "json", "--tape", "TAPE", *TIMEOUT]
        if revision:
            options += ["--revision", revision]
        before, after = self.server.target()
        got, stderr = self.pair.program(self.binary, command, *before, *words, *options, *after, status=status)
        self.pair.equal("what papertape complained about", stderr, "")
        if status in (0, 1):
            self.pair.equal(f"revision of {command}", got.get("revision"), revision or self.pair.revision)
        return got

    def lists(self, server, **wanted):
        got = self.ask("list")
        self.pair.equal("name of the server", got["server"]["name"], server)
        self.pair.equal("problems", got["problems"], [])
        keys = {"tools": "name", "resources": "uri", "resourceTemplates": "uriTemplate", "prompts": "name"}
        for kind, key in keys.items():
            self.pair.equal(kind, [item[key] for item in got[kind]], wanted.get(kind, []))

    def calls(self, tool, arguments, wanted, revision=None):
        words = [f"{key}={value}" for key, value in arguments.items()]
        got = self.ask("call", tool, *words, revision=revision, status=int(wanted["isError"]))
        if self.signature and got["revision"] == MODERN:
            wanted = {**wanted, "_meta": self.signature}
        # The result is as the server sent it; what it leaves out means this.
        sent = {"isError": False, "resultType": "complete", **got["result"]}
        self.pair.equal(f"result of {tool}", sent, {"resultType": "complete", **wanted})

    def reads(self, uri, wanted):
        self.pair.equal(f"contents of {uri}", self.ask("read", uri)["contents"], [{"uri": uri, **wanted}])

    def prompts(self, name, arguments, wanted):
        words = [f"{key}={value}" for key, value in arguments.items()]
        got = self.ask("prompt", name, *words)["result"]["messages"]
        self.pair.equal(f"prompt {name}", got, [{"role": "user", "content": text(wanted)}])


def text(words):
    return {"type": "text", "text": words}


def result(*content, structured=None, error=False):
    """What a tool answers."""
    answer = {"content": list(content), "isError": error}
    return answer if structured is None else {**answer, "structuredContent": structured}
