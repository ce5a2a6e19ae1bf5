"""Faults in the bytes on stdout."""

import json
import sys

from server import Server, add_tool, text


NOT_JSON = r"(not|isn't|invalid) (valid |a )?JSON"


def line(said):
    """Writes a line of text to stdout, as `print` does by mistake."""
    sys.stdout.write(f"{said}\n")
    sys.stdout.flush()


class StrayLine(Server):
    """Prints a line before its first message"""

    codes = ("PT0101",)
    names = rf"Starting example server|{NOT_JSON}"

    def start(self):
        line("Starting example server...")


class StrayLineInACall(Server):
    """Prints a line in the middle of a call"""

    codes = ("PT0101",)
    names = rf"adding \d+ and \d+|{NOT_JSON}"
    call = ("add", {"a": 20, "b": 22})

    def add(self, a, b):
        line(f"adding {a} and {b}")
        return super().add(a, b)


class GluedText(Server):
    """Prints text without a newline, so that its first message stands behind it"""

    codes = ("PT0102",)
    names = rf"Loading\.\.\. ?done|{NOT_JSON}"

    def start(self):
        sys.stdout.write("Loading... done ")
        sys.stdout.flush()


class AnsiCodes(Server):
    """Prints a coloured line: ANSI escape sequences"""

    codes = ("PT0101",)
    names = rf"Server ready|ANSI|\\x1b|\\u001b|{NOT_JSON}"

    def start(self):
        line("\x1b[32m✔\x1b[0m \x1b[1mServer ready\x1b[0m")


class HiddenCursor(Server):
    """Hides the cursor, as progress bars do: ANSI codes in front of its first message"""

    codes = ("PT0102",)
    names = rf"ANSI|escape sequence|\\x1b|\\u001b|\[\?25l|{NOT_JSON}"

    def start(self):
        sys.stdout.write("\x1b[?25l")
        sys.stdout.flush()


class DotenvBanner(Server):
    """dotenv 17 prints its banner"""

    codes = ("PT0101",)
    names = rf"dotenv|{NOT_JSON}"

    def start(self):
        line("[dotenv@17.2.3] injecting env (2) from .env -- tip: ⚙️  suppress all logs with { quiet: true }")


class NpmBanner(Server):
    """Started with `npm start`, which prints what it runs"""

    codes = ("PT0101",)
    names = rf"node dist/index\.js|npm|{NOT_JSON}"

    def start(self):
        line("\n> example-server@1.0.0 start\n> node dist/index.js\n")


class PythonWarning(Server):
    """A Python warning goes to stdout"""

    codes = ("PT0101",)
    names = rf"DeprecationWarning|{NOT_JSON}"

    def start(self):
        line("/app/server.py:3: DeprecationWarning: 'asyncio.get_event_loop' is deprecated\n  import asyncio")


class LogOnStdout(Server):
    """A log framework writes to stdout"""

    codes = ("PT0101",)
    names = rf"Registered 1 tools|{NOT_JSON}"

    def start(self):
        line("2026-11-20 09:14:02,113 - example - INFO - Registered 1 tools")


class JsonLog(Server):
    """A log framework writes JSON to stdout"""

    codes = ("PT0101",)
    names = r"pino|Registered 1 tools|not (a )?JSON-RPC"

    def start(self):
        line('{"level":30,"time":1795165442113,"pid":7,"hostname":"box","msg":"Registered 1 tools"}')


class PrettyPrinted(Server):
    """Messages are pretty-printed, over several lines"""

    codes = ("PT0105",)
    names = r"pretty|several lines|multi-?line|newlines? (in|inside)|indent"
    layout = {"indent": 2}


class NoFinalNewline(Server):
    """Messages are written without a newline"""

    codes = ("PT0106",)
    names = r"(no|without|missing) (a )?(final |trailing )?(newline|line (end|feed))|newline is missing"

    def send(self, message):
        self.write(json.dumps(message).encode())


class NotFlushed(Server):
    """Messages stay in the buffer of stdout"""

    codes = ("PT0107",)
    names = r"flush|buffered"

    def run(self):
        # A buffer of its own: with PYTHONUNBUFFERED, stdout has none.
        self.unwritten = b""
        super().run()
        super().write(self.unwritten)

    def write(self, data):
        self.unwritten += data


class ByteOrderMark(Server):
    """A byte order mark (BOM) in front of the first message"""

    codes = ("PT0108",)
    names = r"BOM|byte order mark|\\ufeff|\\xef\\xbb\\xbf|ef bb bf"

    def start(self):
        sys.stdout.buffer.write(b"\xef\xbb\xbf")


class Utf16(Server):
    """Messages are in UTF-16, as PowerShell pipes them"""

    codes = ("PT0109",)
    names = r"UTF-?16"

    def send(self, message):
        self.write(f"{json.dumps(message)}\n".encode("utf-16"))


class InvalidUtf8(Server):
    """A description in Latin-1: not UTF-8"""

    codes = ("PT0110",)
    names = r"UTF-?8|utf8|Latin-1"

    def tools(self):
        return [add_tool(description="Adds two integers, même négatifs.")]

    def send(self, message):
        self.write(json.dumps(message, **self.layout).encode("latin-1") + b"\n")


class CarriageReturns(Server):
    """Lines end with CR LF"""

    codes = ("PT0111",)
    names = r"CR ?LF|carriage return|\\r\\n"

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\r\n")


class ContentLengthOut(Server):
    """Messages have Content-Length headers, as in the Language Server Protocol"""

    codes = ("PT0103",)
    names = r"Content-Length"

    def send(self, message):
        body = json.dumps(message).encode()
        self.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)


class ContentLengthAwaited(Server):
    """Waits for Content-Length headers on stdin, and answers with them"""

    codes = ("PT0104",)
    names = r"Content-Length"

    def run(self):
        length = None
        for header in sys.stdin.buffer:
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
            elif not header.strip() and length is not None:
                self.receive(json.loads(sys.stdin.buffer.read(length)))
                length = None

    def send(self, message):
        body = json.dumps(message).encode()
        self.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)


class NotANumber(Server):
    """A result has NaN, which JSON does not"""

    codes = ("PT0113",)
    names = r"\bNaN\b|not a number"
    call = ("add", {"a": 1, "b": 2})

    def add(self, a, b):
        return text(str(a + b), _meta={"example.com/error": float("nan")})


FAULTS = [
    StrayLine,
    StrayLineInACall,
    GluedText,
    AnsiCodes,
    HiddenCursor,
    DotenvBanner,
    NpmBanner,
    PythonWarning,
    LogOnStdout,
    JsonLog,
    PrettyPrinted,
    NoFinalNewline,
    NotFlushed,
    ByteOrderMark,
    Utf16,
    InvalidUtf8,
    CarriageReturns,
    ContentLengthOut,
    ContentLengthAwaited,
    NotANumber,
]
