"""The interop client on the official Python SDK 2.x: client2.py auto|legacy COMMAND ARGS... prints what it got as JSON."""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters


async def main(mode: str, command: str, *args: str) -> None:
    async with Client(StdioServerParameters(command=command, args=list(args)), mode=mode) as client:
        seen = {
            "revision": client.protocol_version,
            "server": client.server_info.name,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
        }

        async def call(name: str, **arguments: str):
            result = await client.call_tool(name, arguments)
            return {
                "text": [block.text for block in result.content],
                "structured": result.structured_content,
                "isError": result.is_error,
            }

        seen["conjugate"] = await call("conjugate", verb="eat", tense="past simple", person="3rd singular")
        seen["lookup"] = await call("lookup_irregular_verb", verb="write")
        seen["failing"] = await call("lookup_irregular_verb", verb="walk")
        try:
            await client.call_tool("no_such_tool", {})
        except MCPError as error:
            seen["unknown"] = error.code
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
