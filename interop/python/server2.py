"""The interop server on the official Python SDK 2.x, written as its documentation writes one.

server2.py [stdio | streamable-http]: the last one on a port that uvicorn says.
"""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("interop-python-2", version="1.0.0")


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
    if sys.argv[1:] == ["streamable-http"]:
        server.run(transport="streamable-http", port=0)
    else:
        server.run(transport="stdio")
