"""LangChain: tools and prompts by its adapters, and the tools as its package for Gemini declares them to a model."""

from host import main
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_google_genai._function_utils import convert_to_genai_function_declarations
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.prompts import load_mcp_prompt
from langchain_mcp_adapters.tools import load_mcp_tools


async def use(server):
    connection = {"transport": "stdio", "command": server.command[0], "args": server.command[1:]}
    async with MultiServerMCPClient({"server": connection}).session("server") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        # What a request to Gemini would carry; it asks the service nothing yet.
        bound = ChatGoogleGenerativeAI(model="gemini", google_api_key="none").bind_tools(list(tools.values()))
        (declared,) = convert_to_genai_function_declarations(bound.kwargs["tools"])
        called = await tools[server.tool].ainvoke(server.arguments)
        prompt = server.prompt and await load_mcp_prompt(session, server.prompt, arguments=server.fields)
    for function in declared.function_declarations:
        for name, schema in (function.parameters.properties or {}).items():
            if not schema.description or not (schema.type or schema.any_of):
                raise AssertionError(f"of {name} of {function.name} only {schema} is declared to Gemini")
    return {
        "tools": {
            function.name: sorted(function.parameters.properties or {}) for function in declared.function_declarations
        },
        "called": "\n".join(block["text"] for block in called),
        "prompt": prompt and "\n".join(message.content for message in prompt),
    }


main(use)
