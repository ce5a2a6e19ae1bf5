"""Processes and their CPU time."""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

TICK = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Process:
    """A process that speaks on stdin and stdout, and is ended with all its children."""

    def __init__(self, command):
        self.log = tempfile.TemporaryFile()
        pipe = subprocess.PIPE
        # A session of its own: ended at once, with what it has started.
        self.child = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self.log, bufsize=0, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        started = [(pid, start_of(pid)) for pid in tree({self.child.pid})]
        self.child.stdin.close()
        self.child.terminate()
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()
        for pid, start in started:
            if start is not None and start_of(pid) == start:
                os.kill(pid, 9)
        self.log.close()

    def said(self):
        """The end of what it has written to stderr."""
        size = os.fstat(self.log.fileno()).st_size
        return " ".join(os.pread(self.log.fileno(), 600, max(0, size - 600)).decode(errors="replace").split())

    def announced_port(self):
        """The port that it says it listens on."""
        for _ in range(3000):
            said = os.pread(self.log.fileno(), 10_000, 0).decode(errors="replace")
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said):
                return int(found[1])
            if self.child.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError("announces no port")


def stat(pid):
    """The fields of /proc/PID/stat from the third on, or None if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def start_of(pid):
    fields = stat(pid)
    return fields and fields[19]


def tree(roots):
    """These processes and all that they have started."""
    parents = {}
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        if fields := stat(pid):
            parents[pid] = int(fields[1])
    found, grown = set(), set(roots)
    while grown:
        found |= grown
        grown = {pid for pid, parent in parents.items() if parent in grown} - found
    return found


def is_server(pid):
    """Whether it is `papertape serve`, and not a bridge to it."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"papertape") and words[1:2] == [b"serve"]


def cpu_of(pid):
    """User and system time of all threads, in nanoseconds: the clock of the process, as clock_getcpuclockid(3) names it."""
    try:
        return time.clock_gettime_ns(~pid << 3 | 2)
    except OSError:
        return 0


def ended_cpu_of(pid):
    """User and system time of the children that it has waited for, in nanoseconds, to the tick."""
    fields = stat(pid)
    return (int(fields[13]) + int(fields[14])) * TICK if fields else 0
