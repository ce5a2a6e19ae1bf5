// The interop server on the official TypeScript SDK 1.x, written as its documentation writes one.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "interop-typescript-1", version: "1.0.0" });

server.registerTool(
  "add",
  {
    description: "Add two whole numbers.",
    inputSchema: { a: z.number().int(), b: z.number().int() },
    outputSchema: { result: z.number().int() },
  },
  async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { result: a + b } }),
);

server.registerTool("echo", { description: "Return the text unchanged.", inputSchema: { text: z.string() } }, async ({ text }) => ({
  content: [{ type: "text", text }],
}));

server.registerTool("fail", { description: "Fail, always." }, async () => {
  throw new Error("as asked");
});

server.registerResource("greeting", "interop://greeting", { mimeType: "text/plain" }, async (uri) => ({
  contents: [{ uri: uri.href, mimeType: "text/plain", text: "Hello from the other side." }],
}));

server.registerPrompt("greet", { description: "Ask for a greeting.", argsSchema: { name: z.string() } }, ({ name }) => ({
  messages: [{ role: "user", content: { type: "text", text: `Greet ${name} kindly.` } }],
}));

await server.connect(new StdioServerTransport());
