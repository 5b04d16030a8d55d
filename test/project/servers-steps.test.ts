/** Commands that `npm run servers` plays against running servers. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { cli } from "../lib/support.ts";

interface Listed {
  readonly command: string;
  readonly operations: readonly string[];
}

test.each(["kb", "wf"])(
  "each command of %s that sends requests is in the steps",
  async (program) => {
    const page = await readFile(join(root, "scripts/servers/steps.md"), "utf8");
    const { out } = await cli([program, "help", "--json"]);
    const { commands } = JSON.parse(out) as { readonly commands: readonly Listed[] };
    const missing = commands
      .filter(({ operations }) => operations.length > 0)
      .map(({ command }) => command)
      .filter((command) => !new RegExp(`[|,] ${command}[ ,]`).test(page));
    expect(missing).toEqual([]);
  },
);
