/** Some faults of test/long/torture.test.ts: those that once did harm, and a random few. */
import { expect, test } from "vitest";
import { sampled } from "../lib/sampled.ts";
import { seeded } from "../lib/seeded.ts";
import { lines } from "../lib/torture-lines.ts";
import { complaints, faultsOf, undisturbed } from "../lib/torture-run.ts";
import { stage } from "../lib/torture-world.ts";

const theatre = await stage();

const apply = "kb apply ./kb.yml";
const each = "kb tag create --each ./tags.csv --errors-to ./failed.csv";
const exporting = "kb export Handbook ./new-backup";
const importing = "kb import ./backup --name Copy";
const syncing = "kb sync Synced ./synced";
const typing = "kb doc add Handbook typed.md --text-file -";
const upload = "kb doc upload Handbook ./docs/prices.csv --retries 0";

/** The first call that `call` matches, from the one that `after` does, fails in this way. */
interface Harm {
  readonly what: string;
  readonly name: string;
  readonly how: Parameters<typeof complaints>[3]["how"];
  readonly call: RegExp;
  readonly after?: RegExp;
}

/** Faults that once did harm. */
const harmful: readonly Harm[] = [
  { what: "a journal that cannot be read", name: syncing, how: "EACCES", call: /^read .*sync-/ },
  { what: "a disk that fails", name: "wf timeline ./run.jsonl", how: "EIO", call: /^bytes/ },
  { what: "standard input that fails", name: typing, how: "EIO", call: /^stdin/ },
  { what: "an upload that cannot be read", name: upload, how: "EACCES", call: /^blob/ },
  { what: "a reader that goes away early", name: importing, how: "closed", call: /^stdout/ },
  { what: "a reader that goes away early", name: exporting, how: "closed", call: /^stdout/ },
  { what: "a reader that goes away early", name: apply, how: "closed", call: /^stdout/ },
  { what: "a lost answer", name: importing, how: "ECONNRESET", call: /^POST \/v1\/datasets$/ },
  { what: "no room for a note", name: importing, how: "ENOSPC", call: /^writeAtomic .*imports/ },
  { what: "no room for a file", name: exporting, how: "ENOSPC", call: /^writeAtomic/ },
  { what: "no room for the journal", name: each, how: "ENOSPC", call: /^append/ },
  { what: "no room for what was done", name: each, how: "ENOSPC", call: /^append/, after: /^POST/ },
  { what: "an early interrupt", name: each, how: "SIGINT", call: /^read/ },
  {
    what: "a memory of runs that fails",
    name: "wf run --input query=hello",
    how: "EIO",
    call: /^list .*runs/,
  },
];

test.each(sampled(6, harmful))(
  "$what does no harm: $name",
  async ({ name, how, call, after = /^/ }) => {
    const line = lines.find((known) => known.name === name);
    if (!line) throw new Error(`there is no line ${name}`);
    const normal = await undisturbed(theatre, line);
    const from = normal.calls.findIndex((made) => after.test(made.name));
    const at = normal.calls.findIndex((made, index) => index >= from && call.test(made.name));
    expect(at).toBeGreaterThanOrEqual(0);
    expect(await complaints(theatre, line, normal, { at, how })).toEqual([]);
  },
);

const seed = Number(process.env["TORTURE_SEED"] ?? 20_261_121);
const random = seeded(seed);
const chosen = lines
  .map((line) => ({ line, order: random() }))
  .sort((a, b) => a.order - b.order)
  .slice(0, 3)
  .map(({ line }) => line);

test.each(sampled(5, chosen))(
  `$name reports the truth whatever fails (seed ${seed})`,
  async (line) => {
    const normal = await undisturbed(theatre, line);
    expect(normal.ran.exit, normal.ran.err).toBe(0);
    const all = faultsOf(normal.calls);
    for (const fault of [all[Math.floor(random() * all.length)], all.at(-1)]) {
      if (fault) expect(await complaints(theatre, line, normal, fault)).toEqual([]);
    }
  },
);
