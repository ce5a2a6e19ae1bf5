"""MCP over HTTP by hand: one keep-alive connection, stateless and session-based requests, and which replica responded."""

import http.client
import json

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
NAME = "replicas.example"  # what the replicas are told that they are called


class Refused(Exception):
    """An HTTP status other than success: the request was not served and may be sent again."""


class Caller:
    """One client. In a session-based revision it opens a session, with its first request."""

    def __init__(self, port, revision=MODERN):
        self.port, self.revision, self.id, self.session, self.replica = port, revision, 0, None, None
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def close(self):
        self.connection.close()

    def open(self):
        """Opens a session; the notification that ends the opening may reach another replica."""
        hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "replicas", "version": "1"}}
        answer = self.request("initialize", hello)
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}, {})
        return answer

    def call(self, tool, arguments, **more):
        return self.request("tools/call", {"name": tool, "arguments": arguments, **more}, {"Mcp-Name": tool})

    def request(self, method, params, headers=None):
        """The result of a request."""
        self.id += 1
        if self.revision == MODERN:
            abilities = {"elicitation": {"form": {}}}
            about = {"protocolVersion": MODERN, "clientCapabilities": abilities}
            params = {**params, "_meta": {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}}
            headers = {**(headers or {}), "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        else:
            headers = {}
        body = self.post({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}, headers)
        answer = json.loads(body)
        if answer.get("id") != self.id or "result" not in answer:
            raise AssertionError(f"{method} was answered with {answer}")
        return answer["result"]

    def post(self, message, headers):
        headers = {
            **headers,
            "Host": NAME,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": LEGACY}
        try:
            self.connection.request("POST", "/mcp", json.dumps(message), headers)
            response = self.connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()  # the next request opens another one
            raise
        self.replica = response.headers["X-Replica"]
        if response.status not in (200, 202):
            raise Refused(f"{response.status} from {self.replica}: {body.decode(errors='replace')}")
        self.session = response.headers["Mcp-Session-Id"] or self.session
        if response.headers.get_content_type() == "text/event-stream":
            events = [line.removeprefix(b"data:") for line in body.splitlines() if line.startswith(b"data:")]
            body = next(event for event in reversed(events) if event.strip())
        return body
