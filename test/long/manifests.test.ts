import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tamperWith } from "../lib/manifests.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox({ speed: 200 });
const home = await temporaryDirectory();

test("a manifest with any part removed or replaced is rejected or read correctly", async () => {
  const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });
  await writeFile(join(home, "secret.txt"), "TOP SECRET");
  await done("create", "Source", "--indexing-technique", "economy");
  await done("doc", "add", "Source", "a.md", "--text", "one");
  await done("doc", "add", "Source", "b.md", "--text", "two");
  await done("doc", "wait", "Source");
  await done("metadata", "create", "Source", "num", "--type", "number");
  await done("metadata", "set", "Source", "a.md", "--set", "num=7");
  await done("tag", "create", "people");
  const folder = join(home, "exports", "export");
  await done("export", "Source", folder);
  expect(await tamperWith(server, home, folder, () => true)).toBeGreaterThan(800);
});
