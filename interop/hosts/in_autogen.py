"""AutoGen: the tools as an agent gets them, made into Pydantic models, and the workbench, which has the prompts."""

from autogen_core import CancellationToken
from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams, create_mcp_server_session, mcp_server_tools
from host import arguments, main, texts


async def use(server):
    parameters = StdioServerParams(command=server.command[0], args=server.command[1:], read_timeout_seconds=60)
    async with create_mcp_server_session(parameters) as session:
        await session.initialize()
        tools = {tool.name: tool for tool in await mcp_server_tools(parameters, session)}
        called = await tools[server.tool].run_json(server.arguments, CancellationToken())
    seen = {"tools": {name: arguments(tool.schema["parameters"]) for name, tool in tools.items()}}
    async with McpWorkbench(parameters) as workbench:
        listed = {tool["name"]: arguments(tool["parameters"]) for tool in await workbench.list_tools()}
        again = await workbench.call_tool(server.tool, server.arguments)
        prompt = server.prompt and await workbench.get_prompt(server.prompt, server.fields)
    if (listed, again.is_error) != (seen["tools"], False):
        raise AssertionError(f"the workbench differs: {listed}, {again}")
    return {
        **seen,
        "called": texts(*called),
        "prompt": prompt and texts(*(message.content for message in prompt.messages)),
    }


main(use)
