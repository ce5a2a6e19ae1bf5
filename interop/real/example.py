"""A server as the documentation of FastMCP writes one, in 2.x and in 4.x."""

from fastmcp import FastMCP

server = FastMCP("example")


@server.tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.resource("example://greeting")
def greeting() -> str:
    return "Hello."


if __name__ == "__main__":
    server.run(show_banner=False)
