import { expect, test } from "vitest";
import type { RawHost } from "../../../src/host/host.ts";
import { cli, type Ran } from "../../lib/support.ts";

type Environment = RawHost["env"];

/** Runs `kb sandbox FLAGS -- COMMAND`, where the command is a function of its environment. */
function inSandbox(
  flags: readonly string[],
  command: (env: Environment) => Promise<void>,
): Promise<Ran> {
  const spawn: RawHost["spawn"] = (_command, _args, { env }) => ({
    exit: command(env ?? {}).then(() => 0),
    output: Promise.resolve(""),
    kill: () => {},
  });
  return cli(["kb", "sandbox", "--ephemeral", ...flags, "--", "command"], { spawn });
}

/** The JSON response to GET with the knowledge key. */
async function get({ KB_BASE_URL, KB_KEY }: Environment, path: string): Promise<unknown> {
  const headers = { Authorization: `Bearer ${KB_KEY}` };
  return (await fetch(`${KB_BASE_URL}${path}`, { headers })).json();
}

test.each([
  [[], [{ provider: "langgenius/stub/stub" }]],
  [["--without-models"], []],
])("the models of kb sandbox %j", async (flags, data) => {
  const models: unknown[] = [];
  const ran = await inSandbox(flags, async (env) => {
    models.push(await get(env, "/workspaces/current/models/model-types/llm"));
  });
  expect(ran).toEqual({ exit: 0, out: "", err: "" });
  expect(models).toMatchObject([{ data }]);
});
