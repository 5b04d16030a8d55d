import "../../src/sandbox/http/server.ts"; // loaded here rather than in the time of the first test
import type { RawHost } from "../../src/host/host.ts";
import { cli, type Ran, type World } from "./support.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** Runs `kb sandbox --ephemeral FLAGS -- COMMAND`, where the command is a function of its environment. */
export function inSandbox(
  flags: readonly string[],
  command: (env: Environment) => Promise<void>,
  world: Pick<World, "env" | "tty" | "waits"> = {},
): Promise<Ran> {
  const spawn: RawHost["spawn"] = (_command, _args, options) => ({
    exit: command(options.env).then(() => 0),
    output: Promise.resolve(""),
    kill: () => {},
  });
  return cli(["kb", "sandbox", "--ephemeral", ...flags, "--", "command"], { ...world, spawn });
}
