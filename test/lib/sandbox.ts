import { expect } from "vitest";
import type { Sandbox, SandboxOptions, ReceivedRequest } from "../../src/sandbox/http/server.ts";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import { afterFile } from "./cleanup.ts";
import { fastClock } from "./fast-clock.ts";
import { cli } from "./support.ts";
import type { Ran, World } from "./support.ts";

/** A sandbox for the tests of one file, with a CLI that uses it. */
export interface TestSandbox {
  readonly sandbox: Sandbox;
  /** All requests it received, in order. */
  readonly seen: ReceivedRequest[];
  /** Environment variables that point the CLI to it. */
  readonly env: Readonly<Record<string, string>>;
  readonly cli: (argv: readonly string[], world?: World) => Promise<Ran>;
  /** Runs a command that must exit with 0. */
  readonly done: (argv: readonly string[], world?: World) => Promise<Ran>;
}

/** Starts an ephemeral sandbox and stops it after the tests of the file. */
export async function testSandbox(
  options: Partial<SandboxOptions> & { readonly speed?: number } = {},
): Promise<TestSandbox> {
  const { speed = 50, ...rest } = options;
  const seen: ReceivedRequest[] = [];
  const sandbox = await startSandbox({
    clock: fastClock(speed),
    directory: null,
    onRequest: (request) => void seen.push(request),
    ...rest,
  });
  afterFile(() => sandbox.stop());
  const env = {
    KB_BASE_URL: `${sandbox.origin}/v1`,
    KB_KEY: "dataset-sandbox",
    KB_PROFILE: "sandbox",
  };
  const run: TestSandbox["cli"] = (argv, world = {}) =>
    cli(argv, { ...world, env: { ...env, ...world.env } });
  return {
    sandbox,
    seen,
    env,
    cli: run,
    async done(argv, world) {
      const ran = await run(argv, world);
      expect(ran.exit, `${argv.join(" ")}: ${ran.err}`).toBe(0);
      return ran;
    },
  };
}
