import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, temporaryDirectory } from "../lib/support.ts";

test("front matter with 200,000 keys is parsed in linear time", async () => {
  const folder = await temporaryDirectory();
  const lines = Array.from({ length: 200_000 }, (_, at) => `k${at}: v`);
  await writeFile(join(folder, "a.md"), `---\n${lines.join("\n")}\n---\ntext`);
  const began = process.cpuUsage();
  const ran = await cli(["kb", "lint", folder]);
  expect(ran.exit, ran.err).toBe(0);
  // Comparing each key with all others took 25 s for a quarter of them. What else runs on the machine
  // does not count.
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(30_000);
});
