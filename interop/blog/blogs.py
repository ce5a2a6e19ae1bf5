"""Blog servers on HTTP for the checks here: started, asked, listened to and killed."""

import json
import shutil
import signal
import time
from pathlib import Path

from caller import NAME, Caller
from served import Served

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
LONGEST = 60

QUERIES = [
    "how is a tool called over HTTP",
    "cancel a request that runs",
    "tokens",
    "what is not good yet",
    "client time-out",
    "servidor",
    "工具",
    "nothing of this kind zzzz",
]

# What a server says when its database is away.
AWAY = "the database cannot be reached"


class Blog:
    """One replica, or the server with the index in files."""

    def __init__(self, binary, *words):
        self.binary, self.words, self.address = binary, words, "127.0.0.1:0"

    def start(self):
        self.served = Served("", self.binary, "serve", "blog", "--http", self.address, "--allow-host", NAME, *self.words)
        self.served.__enter__()
        self.address = self.served.url.removeprefix("http://")

    def caller(self):
        return Caller(int(self.address.rsplit(":", 1)[1]))

    def kill(self):
        self.served.process.send_signal(signal.SIGKILL)
        self.served.process.wait(LONGEST)

    def stop(self):
        self.served.__exit__()


class Listener:
    """A subscriber to changes."""

    def __init__(self, caller):
        about = {"protocolVersion": "2026-07-28", "clientCapabilities": {}}
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
        params = {"notifications": {"resourcesListChanged": True}, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
        headers = {
            "Host": NAME,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "subscriptions/listen",
        }
        caller.connection.request("POST", "/mcp", json.dumps(message), headers)
        self.response = caller.connection.getresponse()
        self.wait_for("notifications/subscriptions/acknowledged")

    def wait_for(self, method):
        while line := self.response.readline():
            if line.startswith(b"data:") and method in line.decode():
                return
        raise AssertionError(f"the stream ended without {method}")


def copy_docs(folder):
    """This project's docs, in three languages, as something to search."""
    shutil.copytree(DOCS, folder, ignore=lambda _, names: [it for it in names if it.endswith(".png")])


def excuse(result):
    """Why a result is no answer. Only that the database is away will do: every other error is a wrong answer."""
    said = result["content"][0]["text"] if result.get("isError") else ""
    return said if AWAY in said else None


def equal(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}\n  is        {got}\n  should be {wanted}")


def eventually(what, holds):
    """Waits for something that comes by itself."""
    end = time.monotonic() + LONGEST
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not within {LONGEST} s: {what}")
        time.sleep(0.05)


def hits(caller, query, top_k=10):
    result = caller.call("search_blog", {"query": query, "top_k": top_k})
    if result.get("isError"):
        raise AssertionError(f"{query}: {result['content'][0]['text']}")
    return result["structuredContent"]["hits"]
