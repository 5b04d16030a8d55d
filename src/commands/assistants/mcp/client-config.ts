import type { Context } from "../../task/command-spec.ts";
import type { mcpClients } from "./params.ts";

type Client = (typeof mcpClients)[number];

interface ConfigInput {
  readonly client: Client;
  readonly allow?: readonly string[] | undefined;
  readonly toolset?: readonly string[] | undefined;
  readonly kb?: readonly string[] | undefined;
}

/** The file of a client, and what belongs in it for a program with arguments. */
interface ClientFile {
  readonly file: string;
  lines(program: string, args: readonly string[]): string;
}

const json = (value: object): string => JSON.stringify(value, undefined, 2);

/** The form that most clients share. */
const servers = (program: string, args: readonly string[]): string =>
  json({ mcpServers: { [program]: { command: program, args } } });

const clients: Readonly<Record<Client, ClientFile>> = {
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
  const flag = (name: string, value: string | undefined) =>
    value === undefined ? [] : [name, value];
  const args = [
    "mcp",
    ...flag("--profile", profile),
    ...flag("--app", app),
    ...flag("--base-url", baseUrl),
    ...flag("--user", user),
    ...kb.flatMap((each) => ["--kb", each]),
    ...allow.flatMap((each) => ["--allow", each]),
    ...(toolset.length > 0 ? ["--toolset", toolset.join(",")] : []),
  ];
  const { file, lines } = clients[client];
  yield lines(options.program, args);
  await notice(`add this to ${file}`);
}
