// A server on the official TypeScript SDK 2.x that speaks 2026-07-28 and nothing else: it rejects `initialize`.
//
// node modern.mjs         over stdio
// node modern.mjs http    over Streamable HTTP at /mcp
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { acceptedContent, createMcpHandler, inputRequired, inputResponse, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

function build() {
  const server = new McpServer({ name: "interop-modern", version: "1.0.0" });

  server.registerTool(
    "add",
    {
      description: "Add two whole numbers.",
      inputSchema: z.object({ a: z.number().int(), b: z.number().int() }),
      outputSchema: z.object({ result: z.number().int() }),
    },
    async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { result: a + b } }),
  );

  server.registerTool("fail", { description: "Fail, always." }, async () => {
    throw new Error("as asked");
  });

  server.registerTool("count", { description: "Report progress three times." }, async (context) => {
    const progressToken = context.mcpReq._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= 3; progress++)
      await context.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken, progress, total: 3, message: `step ${progress}` },
      });
    return { content: [{ type: "text", text: "counted" }] };
  });

  server.registerTool("ask", { description: "Ask the user for a colour." }, async (context) => {
    const given = acceptedContent(context.mcpReq.inputResponses, "colour");
    if (given) return { content: [{ type: "text", text: `The colour is ${given.colour}.` }] };
    const requestedSchema = { type: "object", properties: { colour: { type: "string" } }, required: ["colour"] };
    const colour = inputRequired.elicit({ message: "Which colour?", requestedSchema });
    return inputRequired({ inputRequests: { colour }, requestState: "asked" });
  });

  server.registerTool("sample", { description: "Ask the model of the host." }, async (context) => {
    const answer = inputResponse(context.mcpReq.inputResponses, "answer");
    if (answer.kind === "sampling") return { content: [{ type: "text", text: `The model: ${answer.result.content.text}` }] };
    const messages = [{ role: "user", content: { type: "text", text: "Say something." } }];
    return inputRequired({ inputRequests: { answer: inputRequired.createMessage({ messages, maxTokens: 9 }) } });
  });

  return server;
}

if (process.argv[2] === "http") {
  const server = createServer(toNodeHandler(createMcpHandler(build, { legacy: "reject" })));
  server.listen(0, "127.0.0.1", () => console.error(`at http://127.0.0.1:${server.address().port}/mcp`));
} else {
  serveStdio(build, { legacy: "reject" });
}
