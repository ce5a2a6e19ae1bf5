"""A server on the official Python SDK, for bench/call."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo", version="1.0.0")


@server.tool()
def echo(text: str) -> str:
    """Return the text unchanged."""
    return text


server.run(transport="stdio")
