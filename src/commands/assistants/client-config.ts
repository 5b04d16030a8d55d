import { local } from "../../operations/operation.ts";
import type { Input } from "../../operations/operation.ts";
import { required } from "../../operations/shared.ts";
import type { Context } from "../task/command-spec.ts";

/** Where a server of the Model Context Protocol listens. */
export const mcpAddress = local.text(
  "Serve on this loopback address instead of stdin: 127.0.0.1:port",
  { placeholder: "address" },
);

/** What clients of a server may do, and its sets of tools. */
export const mcpLimits = <const Set extends string>(beside: string, sets: readonly Set[]) => ({
  allow: local.choice(["write", "delete"], `What clients may do besides ${beside}`, { many: true }),
  toolset: local.choice(sets, "Only these tools", { many: true }),
});

export const mcpClient = local.choice(["claude", "cursor", "vscode", "codex"], "Client", {
  required,
});

/** What `mcp config` of both programs has in common. */
export const mcpConfigSpec = {
  action: "print the configuration of a client",
  summary: "Print the lines that add the server to a client",
  about:
    "Prints the lines to add to the configuration file of a client; a notice names the file. They contain\nthe profile and the flags of this command, but no key.",
  returns: { kind: "json" },
  sends: [],
  effect: "reads",
} as const;

type ConfigInput = Input<{ client: typeof mcpClient }> & {
  readonly allow?: readonly string[] | undefined;
  readonly toolset?: readonly string[] | undefined;
  readonly kb?: readonly string[] | undefined;
};

/** The form that most clients share. */
const servers = (program: string, args: readonly string[]): string =>
  json({ mcpServers: { [program]: { command: program, args } } });

const json = (value: object): string => JSON.stringify(value, undefined, 2);

/** The files of clients, and what belongs in each for a program with arguments. */
const clients: Readonly<
  Record<ConfigInput["client"], { readonly file: string; readonly lines: typeof servers }>
> = {
  claude: { file: ".mcp.json, or claude_desktop_config.json", lines: servers },
  cursor: { file: "~/.cursor/mcp.json, or .cursor/mcp.json", lines: servers },
  vscode: {
    file: ".vscode/mcp.json",
    lines: (program, args) =>
      json({ servers: { [program]: { type: "stdio", command: program, args } } }),
  },
  codex: {
    file: "~/.codex/config.toml",
    // A string of JSON is one of TOML, too.
    lines: (program, args) =>
      [
        `[mcp_servers.${program}]`,
        `command = ${JSON.stringify(program)}`,
        `args = [${args.map((each) => JSON.stringify(each)).join(", ")}]`,
      ].join("\n"),
  },
};

/** Prints the lines that add the server of this program to a client. */
export async function* run(
  { client, allow = [], toolset = [], kb = [] }: ConfigInput,
  { options, notice }: Context,
): AsyncGenerator<string> {
  const { profile, app, baseUrl, user } = options.flags;
  const flags = { "--profile": profile, "--app": app, "--base-url": baseUrl, "--user": user };
  const args = [
    "mcp",
    ...Object.entries(flags).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...kb.flatMap((each) => ["--kb", each]),
    ...allow.flatMap((each) => ["--allow", each]),
    ...(toolset.length > 0 ? ["--toolset", toolset.join(",")] : []),
  ];
  const { file, lines } = clients[client];
  yield lines(options.program, args);
  await notice(`add this to ${file}`);
}
