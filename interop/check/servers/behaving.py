"""Faults in behaviour, which show when tools are called."""

import sys
import threading
import time

from server import Server, add_tool, text

SUM = {"a": 20, "b": 22}
BAD = {"a": "many", "b": 2}


class CrashesOnBadInput(Server):
    """Crashes when an argument has another type"""

    codes = ("PT0602",)
    names = r"crash|exited|exits|died|TypeError"
    call = ("add", BAD)

    def called(self, name, arguments):
        return self.add(arguments.get("a"), arguments.get("b")) if name == "add" else super().called(name, arguments)


class NotValidated(Server):
    """Does not validate arguments"""

    codes = ("PT0604",)
    names = r"validat|not an integer|wrong type|invalid (argument|param)"
    call = ("add", BAD)

    def called(self, name, arguments):
        if name != "add":
            return super().called(name, arguments)
        return text(f"{arguments.get('a')} + {arguments.get('b')}")


class ErrorAsSuccess(Server):
    """Reports an error as a success"""

    codes = ("PT0605",)
    names = r"isError|as (a )?success"
    call = ("add", BAD)

    def called(self, name, arguments):
        result = super().called(name, arguments)
        if result.pop("isError", False):
            result["content"][0]["text"] = f"Error: {result['content'][0]['text']}"
        return result


class UnknownToolSucceeds(Server):
    """Answers an unknown tool with a result"""

    codes = ("PT0606",)
    names = r"unknown tool"
    call = ("subtract", SUM)

    def called(self, name, arguments):
        return super().called(name, arguments) if name == "add" else text("done")


class SlowCallBlocks(Server):
    """One slow call blocks all other requests"""

    codes = ("PT0608",)
    names = r"block|one (call|request) at a time|meanwhile|concurren"
    call = ("add", SUM)

    def add(self, a, b):
        time.sleep(3)
        return super().add(a, b)


class CancellationIgnored(Server):
    """Ignores cancellation"""

    codes = ("PT0609",)
    names = r"cancel"
    call = ("add", SUM)

    def __init__(self):
        self.lock = threading.Lock()

    def respond(self, request):
        threading.Thread(target=super().respond, args=[request], daemon=True).start()

    def add(self, a, b):
        time.sleep(3)
        return super().add(a, b)

    def write(self, data):
        with self.lock:
            super().write(data)


class TenMegabytes(Server):
    """Answers a call with 10 MB of text"""

    codes = ("PT0610",)
    names = r"\b(10|9\.5) ?M|[0-9,]{7,} bytes|tokens|too (big|large|long)"
    call = ("add", SUM)

    def add(self, a, b):
        return text(10_000_000 * "x")


class UndeclaredOutput(Server):
    """Declares an output schema, and its results have no `structuredContent`"""

    codes = ("PT0611",)
    names = r"structuredContent|structured content|output ?schema"
    call = ("add", SUM)

    def tools(self):
        schema = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
        return [add_tool(outputSchema=schema)]


class ExitsAfterACall(Server):
    """Exits after its first call"""

    codes = ("PT0601",)
    names = r"exited|exits"
    call = ("add", SUM)

    def respond(self, request):
        super().respond(request)
        if request["method"] == "tools/call":
            sys.exit(0)


FAULTS = [
    CrashesOnBadInput,
    NotValidated,
    ErrorAsSuccess,
    UnknownToolSucceeds,
    SlowCallBlocks,
    CancellationIgnored,
    TenMegabytes,
    UndeclaredOutput,
    ExitsAfterACall,
]
