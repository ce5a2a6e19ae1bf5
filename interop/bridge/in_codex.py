"""Codex's app server, which needs no account for this: what it got of each server it is configured with, as JSON.

in_codex.py CODEX HOME SERVERS    where SERVERS is {NAME: {"command": [..]} or {"url": ..}, "adds": [TOOL, ARGUMENTS]}}
"""

import json
import os
import subprocess
import sys
from pathlib import Path

# A model that is nowhere: none is asked, and no account is needed.
CONFIGURATION = """\
model_provider = "nowhere"
check_for_update_on_startup = false
[model_providers.nowhere]
name = "nowhere"
base_url = "http://127.0.0.1:9/v1"
[analytics]
enabled = false
"""


class AppServer:
    """`codex app-server`: requests and responses as lines of JSON."""

    def __init__(self, codex, home):
        environment = {**os.environ, "HOME": str(home), "CODEX_HOME": str(home)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([codex, "app-server"], env=environment, text=True, cwd=home, **pipes)
        self.asked = 0

    def ask(self, method, **params):
        self.asked += 1
        self.tell(id=self.asked, method=method, params=params)
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self.asked and "method" not in message:
                return message["result"] if "result" in message else {"error": message["error"]}
        raise EOFError(f"codex app-server has ended without answering {method}")

    def tell(self, **message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()


def main(codex, home, servers):
    servers = json.loads(servers)
    home = Path(home)
    home.mkdir()
    (home / "config.toml").write_text(CONFIGURATION + "".join(map(configured, servers, servers.values())))
    app = AppServer(codex, home)
    try:
        app.ask("initialize", clientInfo={"name": "interop", "version": "1.0.0"}, capabilities={"experimentalApi": True})
        app.tell(method="initialized")
        listed = {server["name"]: server for server in app.ask("mcpServerStatus/list")["data"]}
        thread = app.ask("thread/start", cwd=str(home), ephemeral=True)["thread"]["id"]
        seen = {}
        for name, server in servers.items():
            tool, arguments = server["adds"]
            called = app.ask("mcpServer/tool/call", threadId=thread, server=name, tool=tool, arguments=arguments)
            info = listed[name].get("serverInfo") or {}
            seen[name] = {"server": info.get("name"), "tools": sorted(listed[name]["tools"]), "called": called}
        print(json.dumps(seen))
    finally:
        app.process.stdin.close()
        try:
            app.process.wait(30)
        except subprocess.TimeoutExpired:
            app.process.kill()


def configured(name, server):
    # A string of JSON is one of TOML.
    if "url" in server:
        return f"[mcp_servers.{name}]\nurl = {json.dumps(server['url'])}\n"
    command, *args = server["command"]
    timeout = "startup_timeout_sec = 60"
    return f"[mcp_servers.{name}]\ncommand = {json.dumps(command)}\nargs = {json.dumps(args)}\n{timeout}\n"


main(*sys.argv[1:])
