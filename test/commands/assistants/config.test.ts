import { expect, test } from "vitest";
import { cli } from "../../lib/support.ts";

test.each([
  [
    ["kb", "mcp", "config", "--client", "claude"],
    { mcpServers: { kb: { command: "kb", args: ["mcp"] } } },
    ".mcp.json",
  ],
  [
    ["wf", "-p", "work", "--app", "support", "mcp", "config", "--client", "cursor"],
    {
      mcpServers: { wf: { command: "wf", args: ["mcp", "--profile", "work", "--app", "support"] } },
    },
    ".cursor/mcp.json",
  ],
  [
    ["kb", "mcp", "config", "--client", "vscode", "--kb", "Hand Book", "--allow", "write"],
    {
      servers: {
        kb: {
          type: "stdio",
          command: "kb",
          args: ["mcp", "--kb", "Hand Book", "--allow", "write"],
        },
      },
    },
    ".vscode/mcp.json",
  ],
])("%j prints JSON", async (argv, expected, file) => {
  const env = { KB_KEY: "dataset-secret", KB_APP_KEY: "app-secret" };
  const { exit, out, err } = await cli(argv, { env });
  expect(exit, err).toBe(0);
  expect(JSON.parse(out)).toEqual(expected);
  expect(err).toContain(file);
  expect(`${out}${err}`).not.toContain("secret");
});

test("codex gets TOML", async () => {
  const { out } = await cli(["kb", "mcp", "config", "--client", "codex", "--kb", 'A "B"']);
  expect(out).toBe('[mcp_servers.kb]\ncommand = "kb"\nargs = ["mcp", "--kb", "A \\"B\\""]\n');
});

test("a client is required", async () => {
  const { exit, err } = await cli(["kb", "mcp", "config"]);
  expect(exit).toBe(2);
  expect(err).toContain("one of: claude, cursor, vscode, codex");
});
