"""The interop client on the official Python SDK 2.x prints what it got of the grammar server as JSON.

client2.py auto|legacy COMMAND ARGS...    over stdio
client2.py auto|legacy URL                over Streamable HTTP
"""

import asyncio
import json
import sys

from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ElicitResult


async def fill_in(_, form):
    """Answers every question of the drill the same way, which is right once."""
    return ElicitResult(action="accept", content={"answer": "went"})


async def main(mode: str, server: str, *args: str) -> None:
    if not server.startswith("http:"):
        server = StdioServerParameters(command=server, args=list(args))
    async with Client(server, mode=mode, elicitation_callback=fill_in) as client:
        seen = {
            "revision": client.protocol_version,
            "server": client.server_info.name,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
        }

        async def call(name: str, **arguments):
            result = await client.call_tool(name, arguments)
            return {
                "text": [block.text for block in result.content],
                "structured": result.structured_content,
                "isError": result.is_error,
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
        except MCPError as error:
            seen["unknown"] = error.code
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
