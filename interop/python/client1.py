"""The interop client on the official Python SDK 1.x: client1.py COMMAND ARGS... prints what it got as JSON."""

import asyncio
import json
import sys

from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.types import ElicitResult


async def fill_in(_, form):
    """Answers every question of the drill the same way, which is right once."""
    return ElicitResult(action="accept", content={"answer": "went"})


async def main(command: str, *args: str) -> None:
    server = StdioServerParameters(command=command, args=list(args))
    async with stdio_client(server) as streams, ClientSession(*streams, elicitation_callback=fill_in) as client:
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
        seen["drill"] = (await call("drill", questions=2, seed=64))["structured"]
        try:
            await client.call_tool("no_such_tool", {})
        except McpError as error:
            seen["unknown"] = error.error.code
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
