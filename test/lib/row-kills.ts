import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { TestSandbox } from "./sandbox.ts";
import { seeded } from "./seeded.ts";
import { start } from "./sync-kills.ts";

/** A row of the sheet; `keywords` only in a sheet of plain content. */
interface SheetLine {
  readonly id: number;
  readonly content: string;
  readonly answer: string;
  readonly keywords: string;
}

interface Stored {
  readonly content: string;
  readonly answer: string | null;
  readonly keywords: readonly string[] | null;
}

/** What kind of sheet, how many rows at first, and how often its sync is killed. */
interface KilledSheet {
  readonly seed: number;
  readonly rows: number;
  readonly kills: number;
}

/**
 * Repeatedly changes a sheet, its order too, and syncs it: killed after a random number of requests, sometimes two at
 * once. One more sync must make the chunks equal to the rows, without a conflict, and another one sends nothing.
 */
export async function rowsWithKills(
  server: TestSandbox,
  home: string,
  { seed, rows, kills }: KilledSheet,
): Promise<void> {
  const random = seeded(seed);
  const below = (end: number) => Math.floor(random() * end);
  const isPair = seed % 2 === 0;
  const flags = seed % 4 < 2 ? ["--id-column", "id"] : [];
  const name = `Rows ${seed}`;
  const folder = join(home, name);
  const world = { folder };
  await server.done(["kb", "create", name, "--indexing-technique", "high_quality"], world);
  await mkdir(folder, { recursive: true });
  const sheet = join(folder, "faq.csv");
  const line = ["sync", name, sheet, "--rows", "--prune", "--yes", ...flags];
  let next = 0;
  const made = (id = next++): SheetLine => ({
    id,
    content: `Question ${id}, asked ${below(1e6)}?`,
    answer: `Answer ${below(1e6)}.`,
    keywords: `word${below(1e6)}, other${id}`,
  });
  let lines = Array.from({ length: rows }, () => made());
  const change = async () => {
    lines = lines.flatMap((each) => {
      const kind = below(20);
      if (kind === 0 && lines.length > 3) return [];
      if (kind === 1) return [made(each.id)];
      if (kind === 2)
        return [{ ...each, answer: made(each.id).answer, keywords: `k${below(1e6)}` }];
      return kind === 3 ? [each, made()] : [each];
    });
    for (let at = lines.length - 1; at > 0; at--) {
      const other = below(at + 1);
      [lines[at], lines[other]] = [lines[other] as SheetLine, lines[at] as SheetLine];
    }
    const cells = ({ id, content, answer, keywords }: SheetLine) =>
      isPair ? [id, content, answer] : [id, content, keywords];
    const head = isPair ? "id,question,answer" : "id,content,keywords";
    const text = lines.map(
      (each) =>
        `\n${cells(each)
          .map((cell) => `"${cell}"`)
          .join(",")}`,
    );
    await writeFile(sheet, head + text.join(""));
  };
  for (let kill = 0; kill < kills; kill++) {
    await change();
    const after = server.seen.length + below(4 + rows / 4);
    const killed = start(server, folder, line);
    const beside = below(3) === 0 ? start(server, folder, line) : undefined;
    const watch = setInterval(() => {
      if (server.seen.length >= after) killed.child.kill("SIGKILL");
    }, 1);
    await killed.ended;
    clearInterval(watch);
    const other = await beside?.ended;
    // It did all, or it did nothing while the other one was at work.
    if (other) expect([0, 1], `kill ${kill} of seed ${seed}: ${other.err}`).toContain(other.exit);
    if (other?.exit === 1) expect(other.err).toContain("another sync of faq.csv is running");
  }
  await change();
  const last = await server.cli(["kb", ...line], world);
  expect(last.exit, `seed ${seed}: ${last.out}${last.err}`).toBe(0);
  const list = ["kb", "chunk", "list", name, "faq.csv", "--all", "-o", "json"];
  const stored = JSON.parse((await server.done(list, world)).out) as Stored[];
  const words = (text: string) => text.split(", ").sort().join();
  expect(
    stored
      .map((each) =>
        [each.content, isPair ? each.answer : each.keywords?.toSorted().join()].join("|"),
      )
      .sort(),
    `seed ${seed}`,
  ).toEqual(
    lines
      .map((each) => [each.content, isPair ? each.answer : words(each.keywords)].join("|"))
      .sort(),
  );
  const before = server.seen.length;
  await server.done(["kb", ...line], world);
  const writes = server.seen
    .slice(before)
    .filter(({ method, path }) => method !== "GET" && !path.endsWith("zip"));
  expect(writes).toEqual([]);
}
