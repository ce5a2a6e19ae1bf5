"""nginx in front of replicas: plain round robin without sticky sessions."""

import subprocess
from pathlib import Path

from ports import listens, reserve

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream replicas {{
        # max_fails=0: a replica that has failed is not left out. Its next turn is a connection that is refused, and the
        # request goes to the next one; so a replica that comes back is used at once.
        {servers}
        {keepalive}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://replicas;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_buffering off;
            proxy_read_timeout 1h;
            add_header X-Replica $upstream_addr always;
        }}
    }}
}}
"""


class NoBalancer(Exception):
    """nginx that does not run."""


class Balancer:
    """nginx on a port of its own; `port` is where it listens."""

    def __init__(self, program, folder, replicas, keepalive=0):
        self.program, self.folder = program, Path(folder)
        self.servers = "\n        ".join(f"server {address} max_fails=0;" for address in replicas)
        self.keepalive = f"keepalive {keepalive};" if keepalive else ""

    def __enter__(self):
        self.folder.mkdir()
        self.reserved, self.port = reserve()
        words = {"folder": self.folder, "servers": self.servers, "keepalive": self.keepalive, "port": self.port}
        file = self.folder / "nginx.conf"
        file.write_text(CONFIGURATION.format(**words))
        command = [self.program, "-p", self.folder, "-c", file, "-e", self.folder / "error.log"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        if listens(self.process, self.port):
            return self
        raise NoBalancer(f"nginx does not start:\n{self.log()}")

    def log(self):
        log = self.folder / "error.log"
        return log.read_text() if log.exists() else ""

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.reserved.close()
