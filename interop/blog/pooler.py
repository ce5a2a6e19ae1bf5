"""PgBouncer in front of a PostgreSQL: every transaction may have another of its few connections."""

import shutil
import subprocess
from pathlib import Path

from ports import listens, reserve

CONFIGURATION = """
[databases]
postgres = host=127.0.0.1 port={database}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {connections}
logfile = {folder}/log
"""


class NoPooler(Exception):
    """PgBouncer that does not run."""


class Pooler:
    """PgBouncer in a folder, which must not be there yet; `url` is where it is."""

    def __init__(self, program, folder, database, connections):
        self.program, self.folder, self.database, self.connections = program, Path(folder), database, connections

    def __enter__(self):
        self.folder.mkdir()
        self.reserved, self.port = reserve()
        self.url = f"postgres://tester@127.0.0.1:{self.port}/postgres"
        file = self.folder / "pgbouncer.ini"
        words = {"folder": self.folder, "port": self.port, "database": self.database.port}
        file.write_text(CONFIGURATION.format(connections=self.connections, **words))
        (self.folder / "users").write_text('"tester" ""\n')
        if self.database.user:
            shutil.chown(self.folder, "nobody", "nogroup")  # it refuses root, as its database does
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        self.process = subprocess.Popen([self.program, file], **quiet, **self.database.user)
        if listens(self.process, self.port):
            return self
        raise NoPooler(f"PgBouncer does not start:\n{self.log()}")

    def log(self):
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.reserved.close()
