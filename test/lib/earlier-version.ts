import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, buildConnector } from "undici";
import { expect } from "vitest";
import { afterFile } from "./cleanup.ts";
import { root } from "./paths.ts";
import type { TestSandbox } from "./sandbox.ts";
import { temporaryDirectory } from "./support.ts";
import type { Ran, World } from "./support.ts";

/** A copy of what a version has written: commands write beside what they read. */
export async function copiedFiles(version: string) {
  const folder = await temporaryDirectory();
  cpSync(join(root, "test", "fixtures", "upgrade", version), folder, { recursive: true });
  const path = (name: string) => join(folder, name);
  return { folder, path, textOf: (name: string) => readFileSync(path(name), "utf8") };
}

/** Runs commands with the stored profiles, which are those of a server at port 7080. */
export function withStored(server: TestSandbox, folder: string) {
  const connect = buildConnector({});
  const agent = new Agent({
    keepAliveTimeout: 50,
    connect: (options, done) =>
      connect(
        { ...options, port: options.port.replace("7080", String(server.sandbox.port)) },
        done,
      ),
  });
  afterFile(() => agent.close());
  const world: World = {
    folder,
    env: { KB_BASE_URL: undefined, KB_KEY: undefined, KB_PROFILE: undefined },
    around: (host) => ({ ...host, dispatcher: () => Promise.resolve(agent) }),
  };
  const ran = (...argv: readonly string[]): Promise<Ran> => server.cli(argv, world);
  return {
    ran,
    async outOf(...argv: readonly string[]): Promise<string> {
      const { exit, out, err } = await ran(...argv);
      expect(exit, `${argv.join(" ")}: ${err}`).toBe(0);
      return out;
    },
    /** Writes that the server has received since the call. */
    writes(): () => readonly string[] {
      const before = server.seen.length;
      return () =>
        server.seen
          .slice(before)
          .filter(({ method }) => method !== "GET")
          .map(({ method, path: to }) => `${method} ${to}`);
    },
  };
}
