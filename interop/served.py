"""A foreign or an own server for the interop tests: started by its client over stdio, or by us on HTTP."""

import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

# How long a server may take to say where it is, and to end.
LONGEST = 60

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")


class NotServed(Exception):
    """A server that does not start, or does not end, as it should."""


class Started:
    """A server that papertape's client starts itself, over stdio."""

    def __init__(self, *command):
        self.command = command

    def target(self):
        """What stands before and after the other words of a papertape command."""
        return [], ["--", *self.command]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def evidence(self):
        return []  # its stderr is the client's


class Served:
    """A server on a port of its own, which it must say; SIGTERM ends it.

    `url` is where it is; `said`, once it has ended, is what it wrote to stderr, and `tape` what it recorded.
    """

    def __init__(self, path, *command):
        self.path, self.command, self.said, self.tape = path, command, "", ""

    def target(self):
        return [self.url], []

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.stderr, tape = (Path(self.folder.name, name) for name in ("stderr", "tape"))
        self.command = [str(tape if word == "TAPE" else word) for word in self.command]
        with self.stderr.open("w") as stderr:
            streams = {"stdin": subprocess.DEVNULL, "stdout": stderr, "stderr": stderr}
            self.process = subprocess.Popen(self.command, **streams)
        try:
            self.url = self.address() + self.path
        except NotServed:
            self.process.kill()
            self.process.wait()
            raise
        return self

    def address(self):
        """Every server says where it is, in words of its own."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            ended = self.process.poll() is not None
            if found := ADDRESS.search(self.written()):
                return found.group()
            if ended:
                raise NotServed(f"{self.named()} has ended with {self.process.returncode}:\n{self.written()}")
            time.sleep(0.02)  # a file does not announce that it has grown
        raise NotServed(f"{self.named()} does not say where it is:\n{self.written()}")

    def written(self):
        return self.stderr.read_bytes().decode(errors="replace")

    def named(self):
        return " ".join(self.command)

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise NotServed(f"{self.named()} did not end within {LONGEST} s of SIGTERM") from None
        finally:
            self.said = self.written()
            tape = Path(self.folder.name, "tape")
            self.tape = tape.read_text(errors="replace") if tape.exists() else ""
            self.folder.cleanup()

    def evidence(self):
        """What to show of the server when the pair has failed."""
        return [f"stderr of {self.named()}:\n{self.said}", f"its tape:\n{self.tape}"]
