"""Pydantic AI: an agent whose model is a function that calls a tool; the schemas made strict for OpenAI."""

import json

from fastmcp.client.transports import StdioTransport
from host import arguments, main
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextContent, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer


def text(block):
    if not isinstance(block, TextContent):
        raise AssertionError(f"there is other than text: {block}")
    return block.content


async def use(server):
    tools, called = {}, []

    def model(messages, info):
        """Calls the tool, and ends when it has the result."""
        tools.update({tool.name: tool.parameters_json_schema for tool in info.function_tools})
        called.extend(part for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        return ModelResponse([TextPart("done") if called else ToolCallPart(server.tool, server.arguments)])

    toolset = MCPToolset(StdioTransport(server.command[0], server.command[1:]))
    async with toolset:
        await Agent(FunctionModel(model), toolsets=[toolset]).run("Call the tool.")
        prompt = server.prompt and await toolset.get_prompt(server.prompt, server.fields)
    for schema in tools.values():
        OpenAIJsonSchemaTransformer(schema, strict=True).walk()
    result = called[0].content
    return {
        "tools": {name: arguments(schema) for name, schema in tools.items()},
        "called": result if isinstance(result, str) else json.dumps(result, ensure_ascii=False),
        "prompt": prompt and "\n".join(text(message.content) for message in prompt.messages),
    }


main(use)
