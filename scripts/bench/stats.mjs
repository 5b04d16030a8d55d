// Statistics of an exported log: rows per second, and how memory grows with the rows.
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { logRow } from "./logs.mjs";
import { folder, grown, measured, result, wf } from "./tools.mjs";

/** Writes `count` rows, three per second; every twentieth failed with a distinct error. */
function writeRows(path, count) {
  const file = openSync(path, "w");
  const newest = 1_790_000_000;
  const row = logRow();
  let text = "";
  for (let index = 0; index < count; index++) {
    const id = String(index).padStart(12, "0");
    const failed = index % 20 === 0;
    text += `${row
      .replaceAll("LOG_________", id)
      .replaceAll("SECOND", String(newest - Math.floor(index / 3)))
      .replace("0.029812", String(((index * 7919) % 30_000) / 1000))
      .replace('"succeeded"', failed ? '"failed"' : '"succeeded"')
      .replace('"error":null', failed ? `"error":"node ${id}: timed out"` : '"error":null')}\n`;
    if (text.length < 1 << 20 && index < count - 1) continue;
    writeSync(file, text);
    text = "";
  }
  closeSync(file);
}

export async function stats() {
  const [few, many] = [100_000, 1_000_000];
  const once = async (rows) => {
    const path = join(folder, `stats-${rows}.jsonl`);
    writeRows(path, rows);
    const line = [wf, "stats", "--from", path, "--by", "version", "-o", "json", "-q"];
    const run = await measured(line);
    rmSync(path);
    return run;
  };
  const sizes = [few, many];
  const seconds = await grown({
    name: "wf stats --from",
    unit: "row",
    sizes,
    run: once,
    bytes: 200,
  });
  result(`  rows of ${many}`, many / seconds, "rows/s", { atLeast: 80_000 });
}
