"""A small MCP server with one fault in opening or behaviour: behaviour.py FAULT"""

import fcntl
import json
import sys
import termios
import threading
import time

FAULT = sys.argv[1]
MODERN = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
lock = threading.Lock()
probed = False


def write(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def send(message):
    match FAULT:
        case "no-jsonrpc":
            del message["jsonrpc"]
        case "null-error" if "result" in message:
            message["error"] = None
        case "text-error" if "error" in message:
            message["error"] = message["error"]["message"]
    write(message)
    if FAULT == "twice":
        write(message)


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def tools():
    tool = {
        "name": "add",
        "description": "Adds two integers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
            "required": ["a", "b"],
        },
        "annotations": {"readOnlyHint": True},
    }
    if FAULT in ("no-structure", "wrong-structure"):
        tool["outputSchema"] = SUM
    if FAULT == "asked-for-an-error":
        schema = {"type": "object", "properties": {"kind": {"type": "string", "enum": ["error"]}}, "required": ["kind"]}
        tool["inputSchema"] = schema
    if FAULT == "not-read-only":
        tool["annotations"] = {"destructiveHint": True}
    if FAULT == "many-large":
        return [dict(tool, name=f"add{number or ''}") for number in range(6)]
    return [tool]


def add(a, b):
    match FAULT:
        case "slow" | "slow-in-threads":
            time.sleep(2.5)
        case "outlasts":
            # Until two more requests wait on stdin: the second one is sent after the time-out of the call.
            while int.from_bytes(fcntl.ioctl(0, termios.FIONREAD, bytes(4)), sys.byteorder) < 80:
                time.sleep(0.01)
        case "never-ends":
            time.sleep(600)
        case "many-large":
            return text(4_000_000 * "x")
        case "large":
            return text(2_000_000 * "x")
        case "too-large":
            return text(20_000_000 * "x")
        case "odd-content":
            return {"content": [{"type": "json", "json": a + b}]}
        case "wrong-structure":
            return text(str(a + b), structuredContent={"sum": str(a + b)})
        case "exits-at-a-call":
            sys.exit("RuntimeError: cannot add")
    return text(str(a + b))


def called(params):
    arguments = params.get("arguments") or {}
    a, b = arguments.get("a"), arguments.get("b")
    if not str(params.get("name")).startswith("add") and FAULT != "any-tool":
        return {"error": {"code": -32602, "message": f"there is no tool {params.get('name')}"}}
    if FAULT == "asked-for-an-error" and arguments.get("kind") == "error":
        return {"result": text("Error: as asked")}
    if FAULT == "not-validated":
        return {"result": text(f"{a} and {b}")}
    if FAULT == "crashes":
        return {"result": text(str(arguments["a"] + arguments["b"]))}
    if type(a) is int and type(b) is int:
        return {"result": add(a, b)}
    if FAULT == "any-tool":
        return {"result": text("0")} if params.get("name") != "add" else {"result": text("no", isError=True)}
    if FAULT == "error-as-success":
        return {"result": text("Error: a and b must be integers")}
    return {"result": text("a and b must be integers", isError=True)}


def opened(asked):
    versions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    if FAULT == "old-only" and asked != "2024-11-05":
        return {"error": {"code": -32602, "message": "unsupported version"}}
    result = {
        "protocolVersion": asked if asked in versions else versions[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "example", "version": "1"},
    }
    match FAULT:
        case "unknown-version":
            result["protocolVersion"] = "1999-01-01"
        case "number-version":
            result["protocolVersion"] = 20251125
        case "no-server-info":
            del result["serverInfo"]
        case "undeclared":
            result["capabilities"] = {}
        case "refused-list" | "resources-fail" | "unanswered-read":
            result["capabilities"]["resources"] = {}
        case "refused-completions" | "unanswered-completions":
            result["capabilities"].update(completions={}, prompts={})
        case "true-capability":
            result["capabilities"]["logging"] = True
        case "null-capability":
            result["capabilities"]["tools"] = {"listChanged": None}
        case "early-request":
            write({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
    return {"result": result}


def respond(request):
    global probed
    params = request.get("params") or {}
    modern = isinstance(params, dict) and params.get("_meta", {}).get(VERSION) == MODERN
    if FAULT in ("modern", "modern-no-type", "no-acknowledgement") and not modern:
        data = {"supported": [MODERN], "requested": None}
        return {"error": {"code": -32022, "message": "unsupported version", "data": data}}
    match request["method"]:
        case "server/discover":
            if FAULT in ("modern", "modern-no-type", "no-acknowledgement"):
                declared = {"tools": {"listChanged": FAULT == "no-acknowledgement"}}
                return complete({"supportedVersions": [MODERN], "capabilities": declared})
            probed = True
            if FAULT == "exits-at-a-probe":
                sys.exit("KeyError: 'server/discover'")
            if FAULT in ("ignores-a-probe", "refuses-after-a-probe", "answers-a-probe-late"):
                return None
        case "initialize":
            if FAULT == "answers-a-probe-late" and probed:
                send({"jsonrpc": "2.0", "id": 1, **complete({"supportedVersions": [MODERN], "capabilities": {"tools": {}}})})
                return {"error": {"code": -32022, "message": "serving 2026-07-28", "data": {"supported": [MODERN]}}}
            if FAULT == "refuses-after-a-probe" and probed:
                return {"error": {"code": -32000, "message": "already initialized"}}
            return opened(params.get("protocolVersion"))
        case "ping" if FAULT == "no-ping":
            return {"error": {"code": -32601, "message": "Method not found"}}
        case "ping":
            return {"result": {}}
        case "resources/list" if FAULT == "resources-fail":
            return {"error": {"code": -32603, "message": "the disk is full"}}
        case "resources/list" if FAULT == "unanswered-read":
            return {"result": {"resources": [{"uri": "memo://a", "name": "a", "description": "A memo."}]}}
        case "resources/templates/list" if FAULT == "unanswered-read":
            return {"result": {"resourceTemplates": []}}
        case "prompts/list" if FAULT.endswith("-completions"):
            prompt = {"name": "p", "description": "A prompt.", "arguments": [{"name": "a", "description": "An argument."}]}
            return {"result": {"prompts": [prompt]}}
        case "prompts/get" if FAULT.endswith("-completions"):
            return {"result": {"messages": []}}
        case "resources/read" | "completion/complete" if FAULT.startswith("unanswered-"):
            return None
        case "tools/call" if FAULT == "unanswered-call" and params.get("name") == "add" and type(params["arguments"].get("a")) is int:
            return None
        case "tools/list":
            if FAULT == "undeclared-request":
                write({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}})
            page = {"tools": tools()}
            number = int(params.get("cursor", "0")) if isinstance(params, dict) and FAULT.startswith("many-") else 0
            match FAULT:
                case "empty-cursor":
                    page["nextCursor"] = ""
                case "same-cursor":
                    page["nextCursor"] = "x"
                case "many-pages":
                    page = {"tools": [dict(tools()[0], name=f"add{number}")], "nextCursor": str(number + 1)}
                case "many-tools":
                    page = {"tools": [{"name": f"a{number}-{index}", "inputSchema": {"type": "object"}} for index in range(6000)]}
                    page["nextCursor"] = str(number + 1)
            return complete(page)
        case "tools/call":
            return complete(called(params))
    if FAULT == "any-method":
        return {"result": {}}
    return {"error": {"code": -32601, "message": f"there is no method {request['method']}"}}


def complete(result):
    """The response with this result, unless it is one already."""
    response = result if "result" in result or "error" in result else {"result": result}
    if FAULT in ("modern", "no-acknowledgement") and "result" in response:
        response["result"] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **response["result"]}
    return response


def answer(request):
    response = respond(request)
    if response is None:
        return
    ident = request["id"]
    match FAULT:
        case "other-id":
            ident = 4711
        case "string-id":
            ident = str(ident)
        case "no-id":
            ident = None
    send({"jsonrpc": "2.0", "id": ident, **response})
    if FAULT == "exits-after-a-call" and request["method"] == "tools/call":
        sys.exit(0)


for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError as why:
        if FAULT == "exits-at-garbage":
            sys.exit(f"JSONDecodeError: {why}")
        write({"jsonrpc": "2.0", "error": {"code": -32700, "message": "not JSON"}})
        continue
    if "id" in message and "method" in message:
        if FAULT == "slow-in-threads":
            threading.Thread(target=answer, args=[message]).start()
        else:
            answer(message)
    elif FAULT == "answers-notifications":
        write({"jsonrpc": "2.0", "id": None, "result": {}})
    elif FAULT == "silent-after-unknown" and "unknown" in message.get("method", ""):
        while sys.stdin.readline():
            pass
