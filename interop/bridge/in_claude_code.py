"""Claude Code, without an account: what it got of each server it is configured with, as JSON.

in_claude_code.py CLAUDE HOME SERVERS    where SERVERS is {NAME: {"command": [..]} or {"url": ..}, "adds": [TOOL, ARGUMENTS]}}

First its own check, `claude mcp list`. Then a session in which the model is a loopback address that always says the same: call
the tool of every server, then stop. What it is sent tells which tools Claude Code offers to a model, and what the calls gave.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LONGEST = 120


class Model(BaseHTTPRequestHandler):
    """The API of a model that calls the tools it is told to call."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "/v1/messages" not in self.path or "count_tokens" in self.path:
            return self.answer("application/json", b'{"input_tokens": 1}')
        offered = {tool["name"] for tool in asked.get("tools", [])}
        results = [block for message in asked["messages"] for block in blocks(message) if block["type"] == "tool_result"]
        calls = []
        if offered >= set(self.server.calls):
            self.server.offered = sorted(offered)
            calls = [] if results else list(self.server.calls.items())
        for result in results:
            self.server.results[result["tool_use_id"]] = result
        self.answer("text/event-stream", b"".join(events(asked["model"], calls)))

    def answer(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = lambda self: self.answer("application/json", b"{}")

    def log_message(self, *_):
        pass


def blocks(message):
    return message["content"] if isinstance(message["content"], list) else []


def events(model, calls):
    """A message as a stream: these calls of tools, or a word."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield event("message_start", message={**message, "stop_sequence": None, "usage": usage})
    for index, (name, arguments) in enumerate(calls):
        block = {"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": {}}
        yield event("content_block_start", index=index, content_block=block)
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    if not calls:
        yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": "Done."})
        yield event("content_block_stop", index=0)
    stop = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=stop, usage=usage)
    yield event("message_stop")


def event(kind, **members):
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()


def main(claude, home, servers):
    servers = json.loads(servers)
    home = Path(home)
    (home / "work").mkdir(parents=True)
    configured = {"mcpServers": {name: entry(server) for name, server in servers.items()}}
    (home / ".claude.json").write_text(json.dumps({**configured, "hasCompletedOnboarding": True}))
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.calls = {f"mcp__{name}__{server['adds'][0]}": server["adds"][1] for name, server in servers.items()}
    model.offered, model.results = [], {}
    threading.Thread(target=model.serve_forever, daemon=True).start()
    environment = {
        **os.environ,
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ENABLE_TOOL_SEARCH": "false",  # every tool is offered at once
        # A session begins when all servers are connected, however slow the machine is.
        "MCP_CONNECTION_NONBLOCKING": "false",
        "MCP_CONNECT_TIMEOUT_MS": "60000",
        "MCP_TIMEOUT": "60000",
    }

    def run(*words):
        streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        return subprocess.run([claude, *words], env=environment, cwd=home / "work", timeout=LONGEST, **streams)

    health = run("mcp", "list").stdout
    told = run("-p", "go", "--output-format", "json", "--allowedTools", ",".join(model.calls))
    seen = {}
    for name, server in servers.items():
        tool = f"mcp__{name}__{server['adds'][0]}"
        line = next((line for line in health.splitlines() if line.startswith(f"{name}: ")), "not in the list")
        tools = [offered.removeprefix(f"mcp__{name}__") for offered in model.offered if offered.startswith(f"mcp__{name}__")]
        called = model.results.get(f"toolu_{tool}", f"not called: {told.stdout}{told.stderr}")
        seen[name] = {"connected": line.endswith("Connected"), "health": line, "tools": tools, "called": called}
    print(json.dumps(seen))


def entry(server):
    if "url" in server:
        return {"type": "http", "url": server["url"]}
    command, *args = server["command"]
    return {"type": "stdio", "command": command, "args": args}


main(*sys.argv[1:])
