/** A file that changes after a sync has read it, before it is sent. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { actions, write } from "../../lib/directory.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import { setFaults, syncedBases, textsOf } from "../../lib/synced-base.ts";

test("its document is taken over, though no response has named it", async () => {
  const dir = await temporaryDirectory();
  const server = await testSandbox({
    onRequest: ({ path }) => {
      if (path.endsWith("/create-by-text")) writeFileSync(join(dir, "b.md"), "changed");
    },
  });
  const folder = await temporaryDirectory();
  const { kb } = await syncedBases(server, folder)();
  await write(dir, { "a.md": "a", "b.md": "b" });
  setFaults(server, ["POST /datasets/*/document/create-by-text cut-bytes=10 skip=1"]);
  const sync = () => server.cli(["kb", "sync", kb, dir, "--concurrency", "1"], { folder });
  expect((await sync()).exit).not.toBe(0);
  expect(await textsOf(server, kb)).toEqual({ "a.md": "a", "b.md": "changed" });
  setFaults(server, []);
  writeFileSync(join(dir, "b.md"), "changed again");
  const again = await sync();
  expect(again.exit, again.err).toBe(0);
  expect(actions(again.out)).toContain("update b.md");
});
