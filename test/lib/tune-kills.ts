import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { TestSandbox } from "./sandbox.ts";
import { root } from "./paths.ts";
import { seeded } from "./seeded.ts";
import { start } from "./sync-kills.ts";

/** Requests at a time, the most that can be on their way when a process is killed. */
const inFlight = 8;

const sent = ({ seen }: TestSandbox, from: number, path: RegExp): number =>
  seen.slice(from).filter((each) => each.method === "POST" && path.test(each.path)).length;

/** The arguments of a tuning with three chunking rules, of the handbook in a new knowledge base. */
export async function tunable(server: TestSandbox, home: string): Promise<readonly string[]> {
  await server.done(["kb", "create", "Staff", "--indexing-technique", "high_quality"]);
  const handbook = join(root, "examples", "handbook");
  const only = ["leave.md", "equipment.md", "security.md"].flatMap((name) => ["--include", name]);
  await server.done(["kb", "sync", "Staff", handbook, ...only], { folder: home });
  const arms = join(home, "arms.yml");
  await writeFile(arms, "- { search_method: full_text_search }\n- { max_tokens: [100, 200] }\n");
  const questions = join(root, "examples", "misspelt.jsonl");
  const line = [
    "tune",
    "Staff",
    questions,
    "--arms",
    arms,
    "--allow-missing",
    "--yes",
    "-o",
    "json",
  ];
  return line;
}

/**
 * Kills tunings at random moments, then runs the same line to its end: its report is that of an undisturbed one, no
 * temporary knowledge base stays, and only requests on their way are sent twice.
 */
export async function tuneWithKills(
  server: TestSandbox,
  home: string,
  line: readonly string[],
  { seed, turns }: { readonly seed: number; readonly turns: number },
): Promise<void> {
  const random = seeded(seed);
  const names = async () => (await server.done(["kb", "list", "--all", "--jq", ".[].name"])).out;
  const bases = await names();
  const run = async () => {
    const { out } = await server.done(["kb", ...line], { folder: home });
    const { arms: _, ...report } = JSON.parse(out) as { arms: unknown };
    return report;
  };
  const from = server.seen.length;
  const undisturbed = await run();
  const requests = server.seen.length - from;
  const paid = [/\/retrieve$/, /create[-_]by/].map(
    (path) => [path, sent(server, from, path)] as const,
  );
  for (let turn = 0; turn < turns; turn++) {
    const what = `turn ${turn} of seed ${seed}`;
    const before = server.seen.length;
    const kills = 1 + Math.floor(random() * 3);
    for (let kill = 0; kill < kills; kill++) {
      const after = server.seen.length + Math.floor(random() * requests);
      const { child, ended } = start(server, home, line);
      const watch = setInterval(() => {
        if (server.seen.length >= after) child.kill("SIGKILL");
      }, 1);
      const { exit } = await ended;
      clearInterval(watch);
      if (exit === 0) break; // it was faster
    }
    const killed = server.seen.length;
    expect(await run(), what).toEqual(undisturbed);
    expect(await names(), what).toBe(bases);
    const isWhole = (path: RegExp, count: number) => sent(server, killed, path) === count;
    for (const [path, count] of paid) {
      const again = sent(server, before, path);
      // A line that ended before its kill is a tuning of its own.
      const whole = isWhole(path, count) ? 2 * count : count;
      expect(again, `${what}: ${path.source}`).toBeLessThanOrEqual(whole + kills * inFlight);
    }
  }
}
