"""Tapes for the page: a session as people have them, and one of 100,000 frames."""

import json


class Tape:
    """Records, numbered as they come."""

    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.number = 0
        self.file.write("papertape 1\n# papertape 0.1.0, unix time 1790000000\n")

    def record(self, source, time, form, text):
        self.number += 1
        self.file.write(f"{self.number} {source} {time:.6f} {form} {text}\n")

    def message(self, source, time, **members):
        self.record(source, time, "line", json.dumps({"jsonrpc": "2.0", **members}, ensure_ascii=False, separators=(",", ":")))

    def event(self, time, name, **detail):
        self.record("*", time, name, json.dumps(detail, separators=(",", ":")))

    def close(self):
        self.file.close()


def session(path):
    """A session of a coding agent with a server of notes: calls, progress, errors, noise on stdout and stderr."""
    tape = Tape(path)
    tape.event(0, "start", command=["npx", "-y", "@acme/notes-server", "--vault", "./notes"], pid=4242)
    tape.record("!", 0.412, "line", "notes-server 2.3.1: 1,204 notes in ./notes")
    tape.record("<", 0.431, "line", "Loading embeddings ...")
    client = {"name": "claude-code", "version": "2.1.4"}
    tape.message(">", 0.502, id=0, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {"roots": {}, "elicitation": {}}, "clientInfo": client})
    server = {"name": "acme-notes", "version": "2.3.1"}
    tape.message("<", 0.561, id=0, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}, "logging": {}}, "serverInfo": server})
    tape.message(">", 0.563, method="notifications/initialized")
    tape.message(">", 0.571, id=1, method="tools/list")
    schema = {"type": "object", "properties": {"query": {"type": "string", "description": "What to look for."}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}}, "required": ["query"]}
    tools = [{"name": name, "description": f"{name.replace('_', ' ').capitalize()} in the vault.", "inputSchema": schema} for name in ("search_notes", "read_note", "write_note", "reindex", "delete_note")]
    tape.message("<", 0.584, id=1, result={"tools": tools})
    time = 1.2

    def call(number, name, arguments, latency, progress=0, **answer):
        nonlocal time
        meta = {"_meta": {"progressToken": number}} if progress else {}
        tape.message(">", time, id=number, method="tools/call", params={"name": name, "arguments": arguments, **meta})
        for step in range(progress):
            at = time + latency * (step + 1) / (progress + 1)
            tape.message("<", at, method="notifications/progress", params={"progressToken": number, "progress": step + 1, "total": progress, "message": f"{(step + 1) * 400} of {progress * 400} notes"})
        time += latency
        if answer:
            tape.message("<", time, id=number, **answer)
        time += 0.35

    text = "## Sourdough\n\nFold every half hour, shape cold, bake at 250 °C until it sounds hollow.\n"
    found = {"hits": [{"path": "bread/sourdough.md", "score": 0.913, "modified": "2026-06-02T09:14:00Z"}, {"path": "bread/starter.md", "score": 0.871, "modified": "2026-05-28T18:40:00Z"}], "took": 0.0031, "id": 9007199254740993}
    call(2, "search_notes", {"query": "sourdough", "limit": 5}, 0.143, result={"content": [{"type": "text", "text": "2 notes: bread/sourdough.md, bread/starter.md"}], "structuredContent": found})
    call(3, "read_note", {"path": "bread/sourdough.md"}, 0.0214, result={"content": [{"type": "text", "text": text * 90}]})
    call(4, "read_note", {"path": "bread/rye.md"}, 0.0087, result={"content": [{"type": "text", "text": "bread/rye.md: no such note. Did you mean bread/rye-starter.md?"}], "isError": True})
    tape.record("!", time, "line", "WARN  embeddings are 3 days old; run reindex")
    call(5, "reindex", {"full": True}, 1.84, progress=6, result={"content": [{"type": "text", "text": "1,204 notes, 9 of them new"}]})
    tape.message("<", time, method="notifications/message", params={"level": "info", "logger": "index", "data": {"notes": 1204, "seconds": 1.82}})
    tape.message("<", time + 0.01, method="notifications/tools/list_changed")
    tape.message(">", time + 0.02, id=6, method="tools/list")
    tape.message("<", time + 0.034, id=6, result={"tools": tools})
    time += 0.4
    call(7, "search_notes", {"query": 42}, 0.0031, error={"code": -32602, "message": "query must be a string", "data": {"pointer": "/query"}})
    call(8, "write_note", {"path": "bread/plan.md", "text": "Saturday: levain at 9, mix at 13."}, 0.0642, result={"content": [{"type": "text", "text": "written: bread/plan.md (34 bytes)"}]})
    tape.message(">", time, id=9, method="tools/call", params={"name": "search_notes", "arguments": {"query": "everything"}})
    tape.message(">", time + 0.9, method="notifications/cancelled", params={"requestId": 9, "reason": "the user pressed Esc"})
    time += 1.1
    tape.message("<", time, id="roots-1", method="roots/list")
    tape.message(">", time + 0.002, id="roots-1", result={"roots": [{"uri": "file:///home/ana/notes", "name": "notes"}]})
    call(10, "delete_note", {"path": "bread/plan.md"}, 0.0121, result={"content": [{"type": "text", "text": "deleted"}]})
    tape.message("<", time, id=10, result={"content": []})
    tape.message(">", time + 0.2, id=11, method="tools/call", params={"name": "read_note", "arguments": {"path": "bread/starter.md"}})
    tape.record("!", time + 0.41, "line", "TypeError: Cannot read properties of undefined (reading 'slice')")
    tape.record("!", time + 0.41, "line", "    at readNote (/srv/notes/dist/read.js:88:21)")
    tape.event(time + 0.43, "exit", status=1)
    tape.event(time + 0.44, "end")
    tape.close()


def large(path, frames=100_000):
    """So many frames: requests and their answers, with an error now and then."""
    tape = Tape(path)
    tape.event(0, "start", command=["./load-generator"], pid=1)
    for number in range(frames // 2):
        time = 0.01 + number * 0.002
        tape.message(">", time, id=number, method="tools/call", params={"name": f"tool_{number % 97}", "arguments": {"text": f"call {number}", "padding": "x" * 120}})
        answer = {"error": {"code": -32603, "message": "broken"}} if number % 9973 == 9972 else {"result": {"content": [{"type": "text", "text": f"answer {number}"}]}}
        tape.message("<", time + 0.0007 + (number % 13) * 0.00005, id=number, **answer)
    tape.event(frames * 0.001 + 0.1, "end")
    tape.close()
    return tape.number
