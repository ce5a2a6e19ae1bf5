"""Hosts that call one tool, over and over: on stdio and over HTTP."""

import json
import os
import socket
import time

REVISION = "2025-11-25"  # the newest that all bridges know
TEXT = "sixteen bytes ok"


def message(method, params, id=None):
    body = {"jsonrpc": "2.0", **({} if id is None else {"id": id}), "method": method, "params": params}
    return json.dumps(body, separators=(",", ":")).encode()


INITIALIZE = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "bridge-race", "version": "1"}}


class Host:
    """Opens a session and calls `echo`. `exchange` of its subclasses returns the response with an id and when it had arrived."""

    def __init__(self):
        self.id = 0

    def request(self, method, params):
        """The result of a request, and the nanoseconds it took."""
        self.id += 1
        sent = message(method, params, self.id)
        start = time.perf_counter_ns()
        response, end = self.exchange(sent, self.id)
        if "result" not in response:
            raise ValueError(f"{method} gets {response}")
        return response["result"], end - start

    def open(self):
        self.connect()
        result, _ = self.request("initialize", INITIALIZE)
        if result["protocolVersion"] != REVISION:
            raise ValueError(f"initialize gets revision {result['protocolVersion']}")
        self.notify(message("notifications/initialized", {}))

    def call(self):
        result, took = self.request("tools/call", {"name": "echo", "arguments": {"text": TEXT}})
        if result.get("isError") or result["content"][0]["text"] != TEXT:
            raise ValueError(f"the call gets {result}")
        return took


class StdioHost(Host):
    """A host of a process that it has started."""

    def __init__(self, child):
        super().__init__()
        self.input, self.output, self.left = child.stdin.fileno(), child.stdout.fileno(), b""

    def connect(self):
        pass

    def notify(self, sent):
        os.write(self.input, sent + b"\n")

    def exchange(self, sent, id):
        os.write(self.input, sent + b"\n")
        while True:
            while b"\n" not in self.left:
                if not (read := os.read(self.output, 65536)):
                    raise ConnectionError("stdout is closed")
                self.left += read
            end = time.perf_counter_ns()
            line, _, self.left = self.left.partition(b"\n")
            response = json.loads(line)
            if response.get("id") == id and "method" not in response:
                return response, end


class HttpHost(Host):
    """A host over HTTP, with one connection, which it keeps for as long as the server does."""

    def __init__(self, port):
        super().__init__()
        self.port, self.session, self.stream = port, "", None
        self.reconnects = -1

    def connect(self):
        if self.stream:
            self.stream.close()
        self.reconnects += 1
        self.stream = socket.create_connection(("127.0.0.1", self.port))
        self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def notify(self, sent):
        self.post(sent)

    def exchange(self, sent, id):
        body, end = self.post(sent)
        if body.lstrip().startswith(b"{"):
            return json.loads(body), end
        for line in body.splitlines():
            if line.startswith(b"data:") and line[5:].strip():
                response = json.loads(line[5:])
                if response.get("id") == id and "method" not in response:
                    return response, end
        raise ValueError(f"no response in {body[:200]!r}")

    def post(self, sent):
        """The body of the response, and when all of it had arrived."""
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{self.session}Content-Length: {len(sent)}\r\n\r\n"
        )
        self.stream.sendall(head.encode() + sent)
        got = self.more(b"")
        while b"\r\n\r\n" not in got:
            got = self.more(got)
        head, _, body = got.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
        if fields.get("transfer-encoding") == "chunked":
            while not body.endswith(b"0\r\n\r\n"):
                body = self.more(body)
            end = time.perf_counter_ns()
            body = unchunked(body)
        else:
            while len(body) < int(fields.get("content-length", 0)):
                body = self.more(body)
            end = time.perf_counter_ns()
        if status.split()[1] not in ("200", "202"):
            raise ValueError(f"{status}: {body[:200]!r}")
        if session := next((line for line in lines if line.lower().startswith("mcp-session-id: ")), None):
            self.session = f"{session}\r\nMCP-Protocol-Version: {REVISION}\r\n"
        if fields.get("connection") == "close":
            self.connect()
        return body, end

    def more(self, got):
        if not (read := self.stream.recv(65536)):
            raise ConnectionError(f"the connection is closed after {got[:200]!r}")
        return got + read


def unchunked(body):
    """The data of a chunked body."""
    data = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        size = int(size.split(b";")[0], 16)
        if size == 0:
            return data
        data, body = data + body[:size], body[size + 2 :]
