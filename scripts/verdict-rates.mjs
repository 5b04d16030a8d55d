// Simulates the gate of `wf test run --baseline` in all cells of test/fixtures/verdicts/shares.jsonl and compares how
// often it is red with the shares there: `npm run prove -- verdicts`. Cells that were played with the same code are
// kept in a file that git ignores, so it continues where it stopped.
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./prepare.mjs";
import { bundle } from "./simulate/bundle.mjs";
import { Players } from "./simulate/players.mjs";

/** The share of cells in which the interval of the difference may miss 0. */
const MISSES = 0.01;

/** Applications that are played: fewer where each takes long. */
function applications({ tests, nights }) {
  if (nights !== undefined) return 200;
  return tests >= 300 ? 400 : 1000;
}

const progressPath = join(root, ".verdicts.json");

/** The results of the same code by the name of the cell. */
function readPlayed(build) {
  try {
    const saved = JSON.parse(readFileSync(progressPath, "utf8"));
    return saved.build === build ? saved.played : {};
  } catch {
    return {};
  }
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;

function print({ name, cell, found, share, low, high, agrees }) {
  const interval = `difference ${percent(low)} to ${percent(high)}`;
  const shares = `${percent(share)} of ${found.n}, ${cell.share} % of ${cell.n} there`;
  console.log(`${agrees ? "" : "DIFFERS: "}${name}: ${shares} (${interval})`);
}

// Inside node_modules, so that the packages that the bundle imports are found.
const cache = join(root, "node_modules", ".cache");
mkdirSync(cache, { recursive: true });
const folder = mkdtempSync(join(cache, "kb-wf-verdicts-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const file = await bundle(folder, undefined, {
  "verdict-player": join(root, "test", "lib", "verdict-player.ts"),
});
const build = createHash("sha256").update(readFileSync(file)).digest("hex");

const fixture = join(root, "test", "fixtures", "verdicts", "shares.jsonl");
const cells = readFileSync(fixture, "utf8").trim().split("\n");
const played = readPlayed(build);
const players = new Players(file);
const jobs = cells
  .map((line, number) => ({ line, cell: JSON.parse(line), number }))
  .filter(({ line }) => !Object.hasOwn(played, line))
  .map(({ line, cell, number }) => ({ line, cell, number, n: applications(cell) }));
await players.askAll(jobs.values(), (result) => {
  played[cells[result.number]] = result;
  writeFileSync(progressPath, `${JSON.stringify({ build, played })}\n`);
  print(result);
});
players.stop();
const all = cells.map((line) => played[line]);
const different = all.filter(({ agrees }) => !agrees);
console.log(`\n${all.length} cells, in ${different.length} of them the shares differ (99.9 %)`);
for (const each of different) print(each);
process.exit(different.length <= MISSES * all.length ? 0 : 1);
