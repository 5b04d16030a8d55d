import { local } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";

/** Where a server of the Model Context Protocol listens. */
export const mcpAddress = local.text(
  "Serve on this address of this machine instead of stdin: 127.0.0.1:port",
  { placeholder: "address" },
);

/** Programs whose files `mcp config` knows. */
export const mcpClients = ["claude", "cursor", "vscode", "codex"] as const;

export const mcpClient = local.choice(mcpClients, "Client", { required });

/** What `mcp config` of both programs has in common. */
export const mcpConfigSpec = {
  action: "print the configuration of a client",
  summary: "Print the lines that add the server to a client",
  about:
    "Prints what belongs in the file of a client, which a notice names. The lines hold the profile and the\nflags of this command, but no key.",
  returns: { kind: "json" },
  sends: [],
  effect: "reads",
} as const;
