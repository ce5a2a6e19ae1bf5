// The interop client on the official TypeScript SDK 2.x: client2.mjs auto|legacy COMMAND ARGS... prints what it got as JSON.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "interop", version: "1.0.0" }, { versionNegotiation: { mode } });
client.onerror = console.error;
await client.connect(new StdioClientTransport({ command, args }));

async function call(name, args) {
  const { content, structuredContent = null, isError = false } = await client.callTool({ name, arguments: args });
  return { text: content.map((block) => block.text), structured: structuredContent, isError };
}

const seen = {
  revision: client.getNegotiatedProtocolVersion(),
  server: client.getServerVersion().name,
  tools: (await client.listTools()).tools.map((tool) => tool.name),
  conjugate: await call("conjugate", { verb: "eat", tense: "past simple", person: "3rd singular" }),
  lookup: await call("lookup_irregular_verb", { verb: "write" }),
  failing: await call("lookup_irregular_verb", { verb: "walk" }),
  unknown: await call("no_such_tool", {}).catch((error) => error.code),
};
await client.close();
console.log(JSON.stringify(seen));
