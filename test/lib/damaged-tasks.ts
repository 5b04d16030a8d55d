/** Tasks that read damaged answers of a real sandbox: what is stored afterwards is what they say. */
import { copyFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import { answering } from "./answering.ts";
import type { Answered } from "./answering.ts";
import { write } from "./directory.ts";
import { damagedBody, trialsOf } from "./mutated-answers.ts";
import type { Trial } from "./mutated-answers.ts";
import { fastClock } from "./sandbox.ts";
import { cli, temporaryFolder } from "./support.ts";
import type { Ran } from "./support.ts";

/** Lines that write, each with the documents that it must leave as they are. */
export const writingLines: readonly (readonly [line: string, foreign: readonly string[]])[] = [
  ["kb sync Synced ./synced --prune --max-delete 100% -y -o json", ["kept.md"]],
  ["kb sync Synced ./synced -o json", ["kept.md", "gone.md"]],
  ["kb import ./backup --into Synced -o json", ["a.md", "gone.md"]],
  ["kb copy Other --name Copied -o json", ["kept.md", "a.md", "gone.md"]],
  ["kb metadata set Synced a.md --set team=people -o json", ["kept.md", "gone.md"]],
  ["kb doc delete Synced gone.md --yes -o json", ["kept.md", "a.md"]],
  ["kb doc replace Synced gone.md ./synced/new.md -o json", ["kept.md", "a.md"]],
  ["kb tag bind Synced draft -o json", ["kept.md", "a.md", "gone.md"]],
  ["kb apply ./kb.yml -o json", ["kept.md", "a.md", "gone.md"]],
];

/** Contents of documents by `base/document`. */
type Stored = ReadonlyMap<string, string>;

/** A line that was run against a sandbox of its own. */
interface Done {
  readonly ran: Ran;
  readonly stored: Stored;
  readonly answers: readonly Answered[];
}

const world = await temporaryFolder();
let runs = 0;

const words = (line: string) => line.split(" ").map((word) => word.replace(/^\.\//, `${world}/`));

/** Runs lines against a sandbox that begins as the first one ended. */
async function against(lines: readonly string[], trial?: Trial): Promise<Done> {
  const folder = join(world, `sandbox-${runs++}`);
  await mkdir(folder);
  const beginning = join(world, "beginning.db");
  if (runs > 1) await copyFile(beginning, join(folder, "sandbox.db"));
  const sandbox = await startSandbox({
    clock: fastClock(400),
    directory: folder,
    indexingDelay: 1,
  });
  const answers: Answered[] = [];
  let ran: Ran | undefined;
  for (const line of lines) {
    ran = await cli(words(line), {
      env: { KB_BASE_URL: `${sandbox.origin}/v1`, KB_KEY: "dataset-sandbox", KB_RETRIES: "0" },
      folder: join(folder, "home"),
      around: (host) =>
        answering(host, (answered) => {
          const at = answers.push(answered) - 1;
          return trial?.answer === at && isJson(answered)
            ? damagedBody(answered, trial)
            : answered.body;
        }),
    });
    if (runs === 1 && ran.exit !== 0) throw new Error(`${line}: ${ran.err}`);
  }
  const stored = await storedIn(sandbox.origin);
  await sandbox.stop();
  if (runs === 1) await copyFile(join(folder, "sandbox.db"), beginning);
  await rm(folder, { recursive: true });
  if (!ran) throw new Error("no line was run");
  return { ran, stored, answers };
}

/** After a damage another answer may stand at the same place. */
const isJson = ({ headers }: Answered) => headers["content-type"]?.includes("json") === true;

async function storedIn(origin: string): Promise<Stored> {
  const stored = new Map<string, string>();
  const rows = async (path: string) => {
    const headers = { authorization: "Bearer dataset-sandbox" };
    const answer = await fetch(`${origin}/v1${path}?limit=100`, { headers });
    const { data } = (await answer.json()) as { data: Record<string, unknown>[] }; // the sandbox's own
    return data;
  };
  for (const base of await rows("/datasets")) {
    const place = `/datasets/${String(base["id"])}/documents`;
    for (const document of await rows(place)) {
      const chunks = await rows(`${place}/${String(document["id"])}/segments`);
      const content = chunks.map((chunk) => [chunk["content"], chunk["enabled"]]);
      const key = `${String(base["name"])}/${String(document["name"])}`;
      stored.set(key, `${stored.get(key) ?? ""}${JSON.stringify([document["enabled"], content])}`);
    }
  }
  return stored;
}

/** The sandbox to begin with, and the files that lines read. */
export async function begun(): Promise<Stored> {
  await write(join(world, "synced"), { "a.md": "first", "gone.md": "gone" });
  const { stored } = await against([
    "kb create Synced --indexing-technique economy",
    "kb create Other --indexing-technique economy",
    "kb metadata create Synced team --type string",
    "kb tag create draft",
    "kb sync Synced ./synced",
    "kb doc add Synced kept.md --text kept",
    "kb doc add Other kept.md --text other",
    "kb doc wait Synced",
    "kb doc wait Other",
    "kb export Other ./backup",
  ]);
  await write(join(world, "synced"), { "a.md": "changed", "gone.md": null, "new.md": "new" });
  await write(world, { "kb.yml": "knowledge_base: Synced\ndescription: made\ntags: [draft]\n" });
  return stored;
}

/** What is wrong with what a line did, in words, for each of the damages that `choose` leaves. */
export async function wrongs(
  [line, foreign]: (typeof writingLines)[number],
  before: Stored,
  choose: (trials: readonly Trial[]) => readonly Trial[],
): Promise<{ readonly found: string[]; readonly tried: number }> {
  const usual = await against([line]);
  const found = usual.ran.exit === 0 ? [] : [`${line}: ${usual.ran.err}`];
  const trials = choose(trialsOf({ name: line, argv: () => [], answers: usual.answers }));
  const others = [...before].filter(
    ([key]) => key.startsWith("Other/") || foreign.includes(key.replace("Synced/", "")),
  );
  for (const trial of trials) {
    const { ran, stored } = await against([line], trial);
    const { path, how } = trial.mutation;
    const where = `${line}: ${usual.answers[trial.answer]?.request} ${path.join(".")} is ${how}`;
    for (const [key, content] of others)
      if (stored.get(key) !== content) found.push(`${where}: ${key} was changed`);
    // A text is a name as good as another, and its documents are others.
    if (how === "a text") continue;
    if (ran.exit === 0 && text(stored) !== text(usual.stored))
      found.push(`${where}: it claims success, and ${text(stored)} is stored`);
    if (/"changed":"nothing"/.test(ran.err) && text(stored) !== text(before))
      found.push(`${where}: it claims that no changes were made`);
  }
  return { found, tried: trials.length };
}

const text = (stored: Stored): string => JSON.stringify([...stored].sort());
