"""Faults at the end."""

import signal
import subprocess
import sys
import time

from server import Server


class IgnoresTheEnd(Server):
    """Ignores the end of its input and SIGTERM"""

    codes = ("PT0701", "PT0702")
    names = r"SIGTERM|SIGKILL|(ignores?|after) .*(end of|stdin|input)"

    def start(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def run(self):
        super().run()
        time.sleep(3600)


class IgnoresEndOfInput(Server):
    """Ignores the end of its input; SIGTERM ends it"""

    codes = ("PT0701",)
    names = r"SIGTERM|(ignores?|after) .*(end of|stdin|input)"

    def run(self):
        super().run()
        time.sleep(3600)


class LeavesAChild(Server):
    """Leaves a process behind"""

    codes = ("PT0703",)
    names = r"leaves|left|orphan|child process|behind"

    def start(self):
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(30)"], **nothing)


class FloodsStderr(Server):
    """Writes 1 MB to stderr for each message"""

    codes = ("PT0704",)
    names = r"stderr"

    def receive(self, message):
        for _ in range(10_000):
            sys.stderr.write(f"DEBUG received {'message ' * 10}\n")
        super().receive(message)


class FailsAtTheEnd(Server):
    """Ends with a traceback and status 1"""

    codes = ("PT0705",)
    names = r"status 1\b|code 1\b|RuntimeError: "

    def run(self):
        super().run()
        raise RuntimeError("the connection is closed")


FAULTS = [IgnoresTheEnd, IgnoresEndOfInput, LeavesAChild, FloodsStderr, FailsAtTheEnd]
