"""The interop server on the official Python SDK 1.x, written as its documentation writes one.

server1.py [stdio | streamable-http | sse]: the last two on a port that uvicorn says.
"""

import sys

from mcp.server.fastmcp import FastMCP

server = FastMCP("interop-python-1", port=0)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


@server.tool()
def fail() -> str:
    """Fail, always."""
    raise ValueError("as asked")


@server.resource("interop://greeting", mime_type="text/plain")
def greeting() -> str:
    """One line to read."""
    return "Hello from the other side."


@server.prompt()
def greet(name: str) -> str:
    """Ask for a greeting."""
    return f"Greet {name} kindly."


if __name__ == "__main__":
    server.run(transport=sys.argv[1] if sys.argv[1:] else "stdio")
