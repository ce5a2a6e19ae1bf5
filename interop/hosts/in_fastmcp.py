"""FastMCP's client, which asks for everything, and makes objects of structured results by their schema."""

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from host import arguments, main, texts


async def use(server):
    async with Client(StdioTransport(server.command[0], server.command[1:])) as client:
        tools = await client.list_tools()
        if server.prompt:  # then there is more than tools
            await client.list_resources()
            await client.list_resource_templates()
            await client.list_prompts()
        called = await client.call_tool(server.tool, server.arguments)
        prompt = server.prompt and await client.get_prompt(server.prompt, server.fields)
    structured = {tool.name: getattr(tool, "output_schema", None) for tool in tools}[server.tool]
    if structured and called.data is None:
        raise AssertionError("the structured result did not become an object")
    return {
        "tools": {tool.name: arguments(tool.input_schema) for tool in tools},
        "called": texts(*called.content),
        "prompt": prompt and texts(*(message.content for message in prompt.messages)),
    }


main(use)
