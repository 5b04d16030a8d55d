import { getDocument, listDocuments } from "../../operations/documents.ts";
import {
  getKnowledgeBase,
  listKnowledgeBases,
  searchKnowledgeBase,
} from "../../operations/knowledge.ts";
import { local, noContent } from "../../operations/operation.ts";
import { task } from "../task/command-spec.ts";
import { mcpAddress, mcpClient, mcpConfigSpec, mcpLimits } from "./client-config.ts";

const limits = {
  ...mcpLimits("reading", ["search", "documents", "admin", "find"]),
  kb: local.text("Only this knowledge base, name or ID", { many: true, placeholder: "kb" }),
};

export const kbMcpParams = { ...limits, http: mcpAddress };

export const kbMcp = task({
  command: "kb mcp",
  action: "serve clients",
  summary: "Serve knowledge bases to AI assistants (MCP)",
  about:
    "A server for clients of the Model Context Protocol, such as Claude, Cursor, VS Code and Codex:\n`kb mcp config` prints the lines for their files. Its tools search, read and list; its resources are\ndocuments, as kb://Handbook/leave.md. Clients can only read, unless --allow is given. A read-only\nprofile wins over --allow. --toolset find offers searching and reading, and two tools that find and call\nthe others.\n\nstdout belongs to the protocol. --http serves several clients on a loopback address, and prints a\ntoken that they must send.",
  params: kbMcpParams,
  returns: noContent,
  sends: [listKnowledgeBases, getKnowledgeBase, searchKnowledgeBase, listDocuments, getDocument],
  effect: "reads",
  serves: true,
  examples: [
    "kb mcp",
    "kb mcp --kb Handbook --allow write",
    "kb mcp --toolset search,documents",
    "kb mcp --http 127.0.0.1:8800",
  ],
});

export const kbMcpConfig = task({
  ...mcpConfigSpec,
  command: "kb mcp config",
  params: { ...limits, client: mcpClient },
  examples: [
    "kb mcp config --client claude",
    "kb mcp config --client codex --kb Handbook --allow write",
  ],
});
