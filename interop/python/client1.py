"""The interop client on the official Python SDK 1.x prints what it got of the grammar server as JSON.

client1.py COMMAND ARGS...    over stdio
client1.py URL                over Streamable HTTP, or the transport of 2024-11-05 if the URL ends with /sse
"""

import asyncio
import json
import sys

from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult


async def fill_in(_, form):
    """Answers every question of the drill the same way, which is right once."""
    return ElicitResult(action="accept", content={"answer": "went"})


def reach(server: str, *args: str):
    """The streams to a server."""
    if server.endswith("/sse"):
        return sse_client(server)
    if server.startswith("http:"):
        return streamable_http_client(server)
    return stdio_client(StdioServerParameters(command=server, args=list(args)))


async def main(*server: str) -> None:
    async with reach(*server) as (read, write, *_), ClientSession(read, write, elicitation_callback=fill_in) as client:
        opened = await client.initialize()
        seen = {
            "revision": opened.protocolVersion,
            "server": opened.serverInfo.name,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
        }

        async def call(name: str, **arguments):
            result = await client.call_tool(name, arguments)
            return {
                "text": [block.text for block in result.content],
                "structured": result.structuredContent,
                "isError": result.isError,
            }

        seen["conjugate"] = await call("conjugate", verb="eat", tense="past simple", person="3rd singular")
        seen["lookup"] = await call("lookup_irregular_verb", verb="write")
        seen["failing"] = await call("lookup_irregular_verb", verb="walk")
        seen["read"] = (await client.read_resource("grammar://verb/eat")).contents[0].text.splitlines()[0]
        prompt = await client.get_prompt("explain_tense", {"verb": "eat", "tense": "past simple"})
        seen["prompt"] = [message.role for message in prompt.messages]
        seen["drill"] = (await call("drill", questions=2, seed=64))["structured"]
        try:
            await client.call_tool("no_such_tool", {})
        except McpError as error:
            seen["unknown"] = error.error.code
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
