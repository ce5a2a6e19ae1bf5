"""A PostgreSQL of one's own, with pgvector: made, started, killed and started again."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from ports import reserve

LONGEST = 60


class Database:
    """A server in a folder, which must not be there yet; `url` is where it is. It may listen elsewhere, too."""

    def __init__(self, programs, folder, elsewhere=()):
        self.programs, self.folder = Path(programs), Path(folder)
        self.addresses = ",".join(["127.0.0.1", *elsewhere])
        self.reserved, self.port = reserve()
        self.url = f"postgres://tester@127.0.0.1:{self.port}/postgres"
        # PostgreSQL refuses to run as root.
        self.user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}

    def __enter__(self):
        self.folder.mkdir()
        if self.user:
            shutil.chown(self.folder, "nobody", "nogroup")
        self.run("initdb", "--username=tester", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        with (self.folder / "data/pg_hba.conf").open("a") as trusted:
            trusted.write("host all all samenet trust\n")
        self.start()
        return self

    def start(self):
        """Starts it. After its first process was killed, the others may take a moment to notice."""
        # Processes are killed here, never the system: what was written is there without fsync, which would take long.
        options = f"-p {self.port} -c listen_addresses={self.addresses} -c unix_socket_directories={self.folder}"
        options += " -c fsync=off"
        end = time.monotonic() + LONGEST * 5
        while True:
            try:
                return self.run("pg_ctl", "-w", "-s", "-l", self.folder / "log", "-o", options, "start")
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                if self.is_ready():
                    return None  # though it took longer than is waited for
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def is_ready(self):
        command = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, timeout=LONGEST).returncode == 0

    def ask(self, sql):
        """What psql prints."""
        return self.psql("-c", sql).communicate(timeout=LONGEST)[0].strip()

    def psql(self, *words):
        """A session of one's own, or one question."""
        command = [self.programs / "psql", "--no-psqlrc", "-qAt", self.url, *words]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def kill(self):
        """Kills its first process, which takes all the others with it."""
        first = (self.folder / "data/postmaster.pid").read_text().splitlines()[0]
        os.kill(int(first), signal.SIGKILL)

    def run(self, program, *words):
        command = [self.programs / program, "-D", self.folder / "data", *words]
        # What is started keeps its streams open, so that reading them to their end would block.
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        subprocess.run(command, check=True, timeout=LONGEST, cwd=self.folder, **quiet, **self.user)

    def __exit__(self, *_):
        try:
            self.run("pg_ctl", "-w", "-s", "-m", "immediate", "stop")
        except subprocess.CalledProcessError:
            pass  # a check that failed may have left it dead
        self.reserved.close()
