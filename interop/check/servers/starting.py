"""Faults at the start."""

import os
import signal
import socket
import sys
import time

from server import Server


class NeverAnswers(Server):
    """Reads, and never answers"""

    codes = ("PT0204",)
    names = r"timed? ?out|(never|does not|did not|has not) (answer|respond)"

    def receive(self, message):
        pass


class NeverReads(Server):
    """Never reads its stdin"""

    codes = ("PT0204",)
    names = r"(never|not|nothing|0 bytes|no bytes) .*read|read (0|no|none)|stdin"

    def start(self):
        time.sleep(3600)


class Spins(Server):
    """Never answers, and keeps a CPU busy"""

    codes = ("PT0204",)
    names = r"CPU|busy|spin"

    def receive(self, message):
        while True:
            pass


class MissingVariable(Server):
    """Exits with status 3, because an environment variable is not set"""

    codes = ("PT0203",)
    names = r"EXAMPLE_API_KEY"

    def start(self):
        if "EXAMPLE_API_KEY" not in os.environ:
            print("example-server 1.0.0", file=sys.stderr)
            print("Error: EXAMPLE_API_KEY is not set", file=sys.stderr)
            sys.exit(3)


class Crashes(Server):
    """Crashes at the start with a traceback"""

    codes = ("PT0203",)
    names = r"KeyError|'search_url'|ModuleNotFoundError"

    def start(self):
        configuration = {"url": "https://example.com"}
        configuration["search_url"]


class Killed(Server):
    """Is killed by a signal (SIGSEGV), as by a broken native module"""

    codes = ("PT0203",)
    names = r"SIGSEGV|signal 11|segmentation|signal: 11"

    def start(self):
        os.kill(os.getpid(), signal.SIGSEGV)


class ExitsAtOnce(Server):
    """Exits with status 0 without a word, as a program does that was not told to serve"""

    codes = ("PT0203",)
    names = r"(exit|status|code)\D{0,30}\b0\b|exited"

    def start(self):
        sys.exit(0)


class CommandNotFound(Server):
    """A command that does not exist"""

    codes = ("PT0201",)
    names = r"ENOENT|not found|no such file|no program"

    @classmethod
    def command(cls, faulty, name):
        return ["example-server-that-does-not-exist"]


class WrongInterpreter(Server):
    """A script whose first line names an interpreter that does not exist"""

    codes = ("PT0202",)
    names = r"interpreter|/opt/python3\.9/bin/python3|shebang|#!"

    @classmethod
    def command(cls, faulty, name):
        return [str(faulty.parent / "moved")]


class NotExecutable(Server):
    """A script that is not executable"""

    codes = ("PT0202",)
    names = r"EACCES|permission denied|not executable"

    @classmethod
    def command(cls, faulty, name):
        return [str(faulty.parent / "not_executable")]


class ListensOnAPort(Server):
    """Serves HTTP on a port in place of stdio"""

    codes = ("PT0205",)
    names = r"\bport\b|https?://|listens"

    def start(self):
        listener = socket.create_server(("127.0.0.1", 0))
        print(f"MCP server listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
        time.sleep(3600)


FAULTS = [
    NeverAnswers,
    NeverReads,
    Spins,
    MissingVariable,
    Crashes,
    Killed,
    ExitsAtOnce,
    CommandNotFound,
    WrongInterpreter,
    NotExecutable,
    ListensOnAPort,
]
