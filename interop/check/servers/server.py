"""A healthy MCP server over stdio. Each faulty server is this one with one thing changed."""

import json
import sys

REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]

INTEGER = {"type": "integer"}


def add_tool(**changes):
    """The definition of the tool that every server has, with these changes."""
    return {
        "name": "add",
        "description": "Adds two integers.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {**INTEGER, "description": "The first one."},
                "b": {**INTEGER, "description": "The second one."},
            },
            "required": ["a", "b"],
        },
        "annotations": {"readOnlyHint": True},
        **changes,
    }


def text(said, **more):
    """The result of a tool."""
    return {"content": [{"type": "text", "text": said}], **more}


class Refused(Exception):
    """A request that is answered with an error: its code and its message."""


class Server:
    """Healthy, in the session-based revisions, with one tool."""

    # The codes that `papertape check` must report, and those that it may report, too.
    codes = ()
    also = ()
    # A regular expression for words that name the cause, in any tool's output, in any case; None for a healthy server.
    names = None
    # What is to be called, if listing does not show the fault: a tool and its arguments.
    call = None
    # How it writes JSON.
    layout = {"ensure_ascii": False, "separators": (",", ":")}

    @classmethod
    def command(cls, faulty, name):
        """The command that starts it."""
        return ["python3", str(faulty), name]

    def run(self):
        self.start()
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line)
            except ValueError as why:
                self.send({"jsonrpc": "2.0", "error": {"code": -32700, "message": f"not JSON: {why}"}})
                continue
            # Lists of messages exist in 2025-03-26.
            for one in message if isinstance(message, list) else [message]:
                self.receive(one)

    def start(self):
        """What it does before it reads anything."""

    def receive(self, message):
        if not isinstance(message, dict):
            self.send({"jsonrpc": "2.0", "error": {"code": -32600, "message": "a message is an object"}})
        elif "method" in message and "id" in message:
            self.respond(message)

    def respond(self, request):
        self.send({"jsonrpc": "2.0", "id": request["id"], **self.outcome(request)})

    def outcome(self, request):
        """The member `result` or the member `error` of the response."""
        try:
            params = request.get("params", {})
            if not isinstance(params, dict):
                raise Refused(-32602, "params must be an object")
            return {"result": self.result(request["method"], params)}
        except Refused as why:
            code, message = why.args
            return {"error": {"code": code, "message": message}}

    def result(self, method, params):
        match method:
            case "initialize":
                return self.opened(params.get("protocolVersion"))
            case "ping":
                return {}
            case "tools/list":
                return {"tools": self.tools()}
            case "tools/call":
                arguments = params.get("arguments", {})
                if not isinstance(arguments, dict):
                    raise Refused(-32602, "arguments must be an object")
                return self.called(params.get("name"), arguments)
        raise Refused(-32601, f"Method not found: {method}")

    def opened(self, revision):
        return {
            "protocolVersion": revision if revision in REVISIONS else REVISIONS[0],
            "capabilities": self.capabilities(),
            "serverInfo": {"name": "example", "version": "1.0.0"},
        }

    def capabilities(self):
        return {"tools": {}}

    def tools(self):
        return [add_tool()]

    def called(self, name, arguments):
        if name != "add":
            raise Refused(-32602, f"Unknown tool: {name}")
        for argument in ("a", "b"):
            # In Python, True is an int.
            if type(arguments.get(argument)) is not int:
                return text(f"{argument} must be an integer", isError=True)
        return self.add(arguments["a"], arguments["b"])

    def add(self, a, b):
        return text(str(a + b))

    def send(self, message):
        self.write(json.dumps(message, **self.layout).encode() + b"\n")

    def write(self, data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
