"""The OpenAI Agents SDK: the tools in strict mode, in which a model gives every argument, and null for "not given"."""

import json
import logging

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPUtil
from agents.tool_context import ToolContext
from host import arguments, main, texts


async def use(server):
    started = {"command": server.command[0], "args": server.command[1:]}
    async with MCPServerStdio(started, client_session_timeout_seconds=60) as connected:
        agent, context = Agent(name="agent"), RunContextWrapper(None)
        tools = {tool.name: tool for tool in await MCPUtil.get_function_tools(connected, True, context, agent)}
        loose = [name for name, tool in tools.items() if not tool.strict_json_schema]
        if loose:
            raise AssertionError(f"not strict: {', '.join(loose)}")
        tool = tools[server.tool]
        given = {**dict.fromkeys(tool.params_json_schema["required"]), **server.arguments}
        words = json.dumps(given)
        called = await tool.on_invoke_tool(
            ToolContext(None, tool_name=tool.name, tool_call_id="1", tool_arguments=words), words
        )
        prompt = server.prompt and await connected.get_prompt(server.prompt, server.fields)
    return {
        "tools": {name: arguments(tool.params_json_schema) for name, tool in tools.items()},
        "called": called["text"],
        "prompt": prompt and texts(*(message.content for message in prompt.messages)),
    }


# That a schema does not convert, it says at the level of information only.
main(use, level=logging.INFO)
