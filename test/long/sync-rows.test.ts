import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rowsWithKills } from "../lib/row-kills.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const home = await temporaryDirectory();

test.each([1, 2, 3, 4])("a sheet whose syncs are killed 15 times (seed %d)", (seed) =>
  rowsWithKills(server, home, { seed: 10 + seed, rows: 40, kills: 15 }),
);

test("a sheet with 20,000 rows, of which ten change", async () => {
  const done = (...argv: string[]) => server.done(["kb", ...argv], { folder: home });
  await done("create", "Large", "--indexing-technique", "economy");
  const sheet = join(home, "large.csv");
  const write = (changed: string) =>
    writeFile(
      sheet,
      `content\n${Array.from({ length: 20_000 }, (_, at) => `Text ${at}${at % 2000 === 0 ? changed : ""}\n`).join("")}`,
    );
  await write("");
  expect((await done("sync", "Large", sheet, "--rows")).err).toContain(
    "20,000 rows: 20,000 created",
  );
  await write(" anew");
  const before = server.seen.length;
  const ran = await done("sync", "Large", sheet, "--rows", "--prune");
  expect(ran.err).toContain(
    "20,000 rows: 10 created, 19,990 unchanged; chunks without a row: 10 deleted",
  );
  const writes = server.seen.slice(before).filter(({ method }) => method !== "GET");
  expect(writes.length).toBeLessThanOrEqual(40);
});
