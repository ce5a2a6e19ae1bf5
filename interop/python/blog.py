"""A client on the official Python SDK 2.x prints what it got of the blog server, over this project's docs, as JSON.

blog.py auto|legacy COMMAND ARGS...    over stdio
blog.py auto|legacy URL                over Streamable HTTP
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters

QUESTIONS = ["how do I close a client", "¿funciona en Windows?", "退出码的含义"]


async def main(mode: str, server: str, *args: str) -> None:
    if not server.startswith("http:"):
        server = StdioServerParameters(command=server, args=list(args))
    async with Client(server, mode=mode) as client:
        found = [await client.call_tool("search_blog", {"query": question}) for question in QUESTIONS]
        first = [answer.structured_content["hits"][0] for answer in found]
        place = {"source": first[1]["source"], "chunk_index": first[1]["chunk_index"]}
        chunk = (await client.call_tool("read_chunk", place)).content[0].text
        missing = await client.call_tool("read_chunk", {**place, "chunk_index": 999})
        resources, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            resources += [str(resource.uri) for resource in page.resources]
            if not (cursor := page.next_cursor):
                break
        resource = (await client.read_resource("blog:///zh/guide.md")).contents[0].text
        prompt = await client.get_prompt("answer_from_blog", {"question": QUESTIONS[1]})
        seen = {
            "revision": client.protocol_version,
            "server": client.server_info.name,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "first": [hit["source"] for hit in first],
            "mode": found[0].structured_content["mode"],
            "same": all(
                json.loads(answer.content[0].text) == answer.structured_content and "\\u" not in answer.content[0].text
                for answer in found
            ),
            "chunk": all(word in chunk and word in first[1]["preview"] for word in first[1]["matches"]),
            "missing": missing.content[0].text.rstrip("0123456789") if missing.is_error else "",
            "resources": sorted(resources),
            "resource": resource.splitlines()[0],
            "prompt": [message.content.type for message in prompt.messages][:2],
        }
    print(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
