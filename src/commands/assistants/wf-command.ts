import { getAppInfo, getAppParameters } from "../../operations/apps.ts";
import { sendMessage, createCompletion } from "../../operations/chats.ts";
import { submitForm } from "../../operations/forms.ts";
import { noContent } from "../../operations/operation.ts";
import { runWorkflow } from "../../operations/workflows.ts";
import { task } from "../task/command-spec.ts";
import { mcpAddress, mcpClient, mcpConfigSpec, mcpLimits } from "./client-config.ts";

const limits = mcpLimits("runs and reads", ["run", "logs", "admin", "find"]);

export const wfMcpParams = { ...limits, http: mcpAddress };

export const wfMcp = task({
  command: "wf mcp",
  action: "serve clients",
  summary: "Serve applications to AI assistants (MCP)",
  about:
    "A server for clients of the Model Context Protocol, such as Claude, Cursor, VS Code and Codex:\n`wf mcp config` prints the lines for their files. Each application of the profile (or that of --app) is\na tool with its inputs. A run reports its progress; a paused run returns what it asks for, and the tool\nanswer continues it. A read-only profile wins over --allow, and blocks runs.\n\nstdout belongs to the protocol. --http serves several clients on a loopback address, and prints a\ntoken that they must send.",
  params: wfMcpParams,
  returns: noContent,
  sends: [getAppInfo, getAppParameters, runWorkflow, sendMessage, createCompletion, submitForm],
  effect: "reads",
  serves: true,
  examples: ["wf mcp", "wf --app echo mcp --toolset run,logs", "wf mcp --http 127.0.0.1:8801"],
});

export const wfMcpConfig = task({
  ...mcpConfigSpec,
  command: "wf mcp config",
  params: { ...limits, client: mcpClient },
  examples: ["wf mcp config --client claude", "wf --app echo mcp config --client vscode"],
});
