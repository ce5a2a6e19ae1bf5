"""A proxy in front of an MCP server on HTTP that makes its clients ask for an older revision.

The conformance suite's client always asks for 2025-11-25, whatever revision a scenario is of. Here `initialize` asks for
another one before it goes on to the server, and later requests name that one; all else passes unchanged, streams as they
come. What was negotiated is noted.
"""

import asyncio
import json
import re
import threading
from urllib.parse import urlsplit

# No honest head or body of the suite's comes near these.
LARGEST_HEAD = 64 * 1024
LARGEST_BODY = 1024 * 1024
# How much of an answer is searched for the revision.
ENOUGH = 64 * 1024


class Downgrade:
    """The proxy, on a port and a thread of its own within a `with`."""

    def __init__(self, upstream, revision):
        self.upstream, self.revision = urlsplit(upstream), revision
        self.negotiated = []  # (what the client asked for, what the server answered)
        self.url, self.loop = None, asyncio.new_event_loop()
        self.trouble = []  # what this proxy could not do
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        self.ready.wait()
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()

    def _run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LARGEST_HEAD))
        port = server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}{self.upstream.path}"
        self.ready.set()
        self.loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.loop.close()

    async def _serve(self, reader, writer):
        """One request, one answer, and the end of both connections."""
        try:
            await self._exchange(reader, writer)
        except ConnectionError:
            pass  # either side may go at any time, which the other one notices
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as why:
            self.trouble.append(repr(why))
        finally:
            writer.close()

    async def _exchange(self, reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as nothing:
            if nothing.partial:
                raise
            return  # a connection that was opened for later and never used
        first, headers = parsed(head)
        of = {name.lower(): value for name, value in headers}
        length = int(of.get("content-length", 0))
        if "transfer-encoding" in of or length > LARGEST_BODY:
            raise ValueError(f"not a request that the suite would send: {first}")
        body = await reader.readexactly(length)
        asked, body = self._rewritten(body)

        # Scenarios that write their requests by hand name the revision that they asked for.
        changed = {
            "host": self.upstream.netloc,
            "content-length": str(len(body)),
            "mcp-protocol-version": self.revision,
        }
        headers = [(name, changed.get(name.lower(), value)) for name, value in headers]
        upstream, to_upstream = await asyncio.open_connection(self.upstream.hostname, self.upstream.port)
        try:
            to_upstream.write(closing(first, headers) + body)
            await to_upstream.drain()
            answer = asyncio.ensure_future(self._pass_on(upstream, writer, asked))
            # A client that goes away takes its stream with it.
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait([answer, gone], return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if not answer.done():
                answer.cancel()
            await asyncio.gather(answer, return_exceptions=True)
        finally:
            to_upstream.close()

    def _rewritten(self, body):
        """What the client asked for if this is an `initialize`, and the body as it goes on."""
        try:
            message = json.loads(body)
        except ValueError:
            return None, body
        if not isinstance(message, dict) or message.get("method") != "initialize":
            return None, body
        asked = message.get("params", {}).get("protocolVersion")
        message.setdefault("params", {})["protocolVersion"] = self.revision
        return asked, json.dumps(message).encode()

    async def _pass_on(self, upstream, writer, asked):
        seen = b""
        writer.write(closing(*parsed(await upstream.readuntil(b"\r\n\r\n"))))
        try:
            while chunk := await upstream.read(64 * 1024):
                writer.write(chunk)
                await writer.drain()
                if asked is not None and len(seen) < ENOUGH:
                    seen += chunk
        finally:
            if asked is not None:
                found = re.search(rb'"protocolVersion"\s*:\s*"([^"]*)"', seen)
                self.negotiated.append((asked, found and found.group(1).decode()))


def parsed(head):
    """The first line of a head, and its headers."""
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    return first, [tuple(part.strip() for part in line.split(":", 1)) for line in lines]


def closing(first, headers):
    """A head that says that its connection carries nothing more, so that what it heads ends where that does."""
    kept = [f"{name}: {value}" for name, value in headers if name.lower() not in ("connection", "keep-alive")]
    return "\r\n".join([first, *kept, "Connection: close", "", ""]).encode("latin-1")
