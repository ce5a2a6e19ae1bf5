"""A small MCP server with one fault, for what the faulty server in Rust does not have: server.py FAULT"""

import fcntl
import json
import os
import select
import socket
import subprocess
import sys
import termios
import time

FAULT = sys.argv[1]


def write(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message):
    text = json.dumps(message)
    match FAULT:
        case "no-line-end":
            write(text.encode())
        case "latin-1":
            write(json.dumps(message, ensure_ascii=False).encode("latin-1") + b"\n")
        case "half-a-pair":
            write(text.replace("Returns a text", "Returns a \\ud83d").encode() + b"\n")
        case "nested":
            deep = 200_000 * "[" + 200_000 * "]"
            write(text.replace('"description"', f'"_meta": {{"deep": {deep}}}, "description"').encode() + b"\n")
        case "blank-lines":
            write(text.encode() + b"\n\n")
        case _:
            write(text.encode() + b"\n")


def tools():
    match FAULT:
        case "exits-at-list":
            print("RuntimeError: out of tools", file=sys.stderr)
            sys.exit(4)
        case "nan":
            return [tool("é", _meta={"example.com/weight": float("nan")})]
    return [tool("é")]


def tool(description, **more):
    return {"name": "echo", "description": f"Returns a text. {description}", "inputSchema": {"type": "object"}, **more}


def respond(request):
    match request["method"]:
        case "initialize" if "refuses" in sys.argv:
            return {"error": {"code": -32600, "message": "not today"}}
        case "initialize":
            return {"result": {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "example", "version": "1"},
            }}
        case "ping":
            return {"result": {}}
        case "tools/list" if FAULT == "lists-fail":
            return {"error": {"code": -32603, "message": "the database is down"}}
        case "tools/list":
            return {"result": {"tools": tools()}}
        case method:
            return {"error": {"code": -32601, "message": f"there is no method {method}"}}


match FAULT:
    case "glued":
        write(b"Loading... ")
    case "dotenv":
        write(b"[dotenv@17.2.3] injecting env (0) from .env -- tip: encrypt with dotenvx\n")
    case "warning":
        write(b"/app/server.py:3: DeprecationWarning: old\n  import old\n")
    case "colours":
        write(b"\x1b[32mready\x1b[0m\n")
    case "stderr":
        print("Example server on stdio", file=sys.stderr)
    case "variable":
        sys.exit(f"Error: {sys.argv[2]} is not set")
    case "port":
        listener = socket.create_server(("127.0.0.1", 0))
        time.sleep(600)
    case "late":
        # Reads nothing before the request that follows `initialize` when that was not answered in time.
        while int.from_bytes(fcntl.ioctl(0, termios.FIONREAD, bytes(4)), sys.byteorder) < 300:
            time.sleep(0.01)
    case "late-once" if not os.path.exists(sys.argv[2]):
        open(sys.argv[2], "x").close()
        time.sleep(5.2)
    case "flood":
        try:
            while True:
                write(65536 * b"z")
        except BrokenPipeError:
            sys.exit()
    case "late-at-the-end":
        # Reads nothing before the other end of stdin is closed.
        closed = select.poll()
        closed.register(0, select.POLLHUP)
        while not any(event & select.POLLHUP for _, event in closed.poll()):
            pass
    case "child":
        nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        child = subprocess.Popen(["sleep", "600"], start_new_session=True, **nothing)
        with open(sys.argv[2], "a") as pids:
            print(os.getpid(), child.pid, file=pids)

for line in sys.stdin:
    try:
        request = json.loads(line) if FAULT != "silent" else {}
    except ValueError as why:
        send({"jsonrpc": "2.0", "error": {"code": -32700, "message": f"not JSON: {why}"}})
        continue
    if FAULT != "refuses-headers" and "id" in request and not (FAULT == "unanswered" and request["method"] == "tools/list"):
        send({"jsonrpc": "2.0", "id": request["id"], **respond(request)})

if FAULT == "half-a-message":
    write(b'{"jsonrpc":"2.0","method":"notifications/mess')
    time.sleep(600)
if FAULT == "busy-at-the-end":
    over = time.monotonic() + 7
    while time.monotonic() < over:
        pass
if FAULT == "fails":
    sys.exit(7)
