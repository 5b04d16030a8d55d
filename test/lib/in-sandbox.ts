import type { RawHost } from "../../src/host/host.ts";
import { cli, type Ran } from "./support.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs `kb sandbox --ephemeral FLAGS -- COMMAND`, where the command is a function of its environment. */
export function inSandbox(
  flags: readonly string[],
  command: (env: Environment) => Promise<void>,
  env: Environment = {},
): Promise<Ran> {
  const spawn: RawHost["spawn"] = (_command, _args, options) => ({
    exit: command(options.env).then(() => 0),
    output: Promise.resolve(""),
    kill: () => {},
  });
  return cli(["kb", "sandbox", "--ephemeral", ...flags, "--", "command"], { spawn, env });
}
