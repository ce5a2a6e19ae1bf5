// The interop server on the official TypeScript SDK 1.x, written as its documentation writes one.
//
// node server1.mjs         over stdio
// node server1.mjs http    over Streamable HTTP with sessions at /mcp, and over the transport of 2024-11-05 at /sse
import { randomUUID } from "node:crypto";
import { createMcpExpressApp } from "@modelcontextprotocol/sdk/server/express.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";

function build() {
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

  return server;
}

function serveHttp() {
  const app = createMcpExpressApp();
  const sessions = {};

  app.all("/mcp", async (request, response) => {
    let transport = sessions[request.headers["mcp-session-id"]];
    if (!transport && isInitializeRequest(request.body)) {
      const onsessioninitialized = (id) => (sessions[id] = transport);
      transport = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized });
      await build().connect(transport);
    }
    if (transport) await transport.handleRequest(request, response, request.body);
    else response.status(400).json({ jsonrpc: "2.0", error: { code: -32000, message: "no such session" }, id: null });
  });

  app.get("/sse", async (_, response) => {
    const transport = new SSEServerTransport("/messages", response);
    sessions[transport.sessionId] = transport;
    await build().connect(transport);
  });
  app.post("/messages", (request, response) =>
    sessions[request.query.sessionId].handlePostMessage(request, response, request.body),
  );

  const http = app.listen(0, "127.0.0.1", () => console.error(`at http://127.0.0.1:${http.address().port}/mcp`));
}

if (process.argv[2] === "http") serveHttp();
else await build().connect(new StdioServerTransport());
