"""Semantic Kernel: a server as a plugin, whose functions are the tools and the prompts."""

from host import main
from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
from semantic_kernel.connectors.mcp import MCPStdioPlugin


async def use(server):
    kernel = Kernel()
    async with MCPStdioPlugin(name="server", command=server.command[0], args=server.command[1:]) as plugin:
        functions = kernel.add_plugin(plugin).functions
        # What a model is told of each function.
        told = {name: kernel_function_metadata_to_function_call_format(it.metadata) for name, it in functions.items()}
        tools = {name: sorted(it["function"]["parameters"]["properties"]) for name, it in told.items()}
        called = await kernel.invoke(functions[server.tool], **server.arguments)
        prompt = None
        if server.prompt:
            tools.pop(server.prompt)
            prompt = await kernel.invoke(functions[server.prompt], **server.fields)
            prompt = "\n".join(message.content for message in prompt.value)
    return {"tools": tools, "called": "\n".join(block.text for block in called.value), "prompt": prompt}


main(use)
