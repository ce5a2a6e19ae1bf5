// The interop server on the official TypeScript SDK 2.x, written as its documentation writes one.
//
// node server2.mjs            over stdio
// node server2.mjs connect    the older way that 2.x still has, `server.connect`, which speaks no 2026-07-28
// node server2.mjs http       over Streamable HTTP, stateless and session-based
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

function build() {
  const server = new McpServer({ name: "interop-typescript-2", version: "1.0.0" });

  server.registerTool(
    "add",
    {
      description: "Add two whole numbers.",
      inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
      outputSchema: z.object({ result: z.number().int() }),
    },
    async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { result: a + b } }),
  );

  server.registerTool(
    "echo",
    { description: "Return the text unchanged.", inputSchema: z.object({ text: z.string() }) },
    async ({ text }) => ({ content: [{ type: "text", text }] }),
  );

  server.registerTool("fail", { description: "Fail, always." }, async () => {
    throw new Error("as asked");
  });

  server.registerResource("greeting", "interop://greeting", { mimeType: "text/plain" }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "Hello from the other side." }],
  }));

  server.registerPrompt(
    "greet",
    { description: "Ask for a greeting.", argsSchema: z.object({ name: z.string() }) },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name} kindly.` } }] }),
  );

  return server;
}

if (process.argv[2] === "connect") {
  await build().connect(new StdioServerTransport());
} else if (process.argv[2] === "http") {
  const server = createServer(toNodeHandler(createMcpHandler(build)));
  server.listen(0, "127.0.0.1", () => console.error(`at http://127.0.0.1:${server.address().port}/mcp`));
} else {
  serveStdio(build);
}
