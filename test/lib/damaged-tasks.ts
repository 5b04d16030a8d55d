/** Runs tasks with damaged responses of a sandbox and compares what is stored with what they report. */
import { copyFile, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import { answering } from "./answering.ts";
import type { Answered } from "./answering.ts";
import { write } from "./directory.ts";
import { damagedBody, trialsOf } from "./mutated-responses.ts";
import type { Trial } from "./mutated-responses.ts";
import { fastClock } from "./fast-clock.ts";
import { cli, temporaryDirectory } from "./support.ts";
import type { Ran } from "./support.ts";

/** Commands that write, each with the documents that it must not change. */
export const writingCommands: readonly (readonly [command: string, foreign: readonly string[]])[] =
  [
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

/** The result of a command that ran against a sandbox of its own. */
interface Outcome {
  readonly ran: Ran;
  readonly stored: Stored;
  readonly responses: readonly Answered[];
}

const home = await temporaryDirectory();
let runs = 0;

const words = (command: string) =>
  command.split(" ").map((word) => word.replace(/^\.\//, `${home}/`));

/** Runs commands against a sandbox that starts with the state in which the first one ended. */
async function against(commands: readonly string[], trial?: Trial): Promise<Outcome> {
  const folder = join(home, `sandbox-${runs++}`);
  await mkdir(folder);
  const beginning = join(home, "beginning.db");
  if (runs > 1) await copyFile(beginning, join(folder, "sandbox.db"));
  const sandbox = await startSandbox({
    clock: fastClock(400),
    directory: folder,
    indexingDelay: 1,
  });
  const responses: Answered[] = [];
  let ran: Ran | undefined;
  for (const command of commands) {
    ran = await cli(words(command), {
      env: { KB_BASE_URL: `${sandbox.origin}/v1`, KB_KEY: "dataset-sandbox", KB_RETRIES: "0" },
      folder: join(folder, "home"),
      around: (host) =>
        answering(host, (answered) => {
          const at = responses.push(answered) - 1;
          return trial?.answer === at && isJson(answered)
            ? damagedBody(answered, trial)
            : answered.body;
        }),
    });
    if (runs === 1 && ran.exit !== 0) throw new Error(`${command}: ${ran.err}`);
  }
  const stored = await storedIn(sandbox.origin);
  await sandbox.stop();
  if (runs === 1) await copyFile(join(folder, "sandbox.db"), beginning);
  await rm(folder, { recursive: true });
  if (!ran) throw new Error("no command was run");
  return { ran, stored, responses };
}

/** After a damage, another response may be at the same position. */
const isJson = ({ headers }: Answered) => headers["content-type"]?.includes("json") === true;

async function storedIn(origin: string): Promise<Stored> {
  const stored = new Map<string, string>();
  const rows = async (path: string) => {
    const headers = { authorization: "Bearer dataset-sandbox" };
    const response = await fetch(`${origin}/v1${path}?limit=100`, { headers });
    const { data } = (await response.json()) as { data: Record<string, unknown>[] }; // the sandbox's own
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

/** Prepares the first sandbox and the files that commands read. */
export async function prepare(): Promise<Stored> {
  await write(join(home, "synced"), { "a.md": "first", "gone.md": "gone" });
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
  await write(join(home, "synced"), { "a.md": "changed", "gone.md": null, "new.md": "new" });
  await write(home, { "kb.yml": "knowledge_base: Synced\ndescription: made\ntags: [draft]\n" });
  return stored;
}

/** Describes what a command did wrong with each of the chosen damages. */
export async function findProblems(
  [command, foreign]: (typeof writingCommands)[number],
  before: Stored,
  choose: (trials: readonly Trial[]) => readonly Trial[],
): Promise<{ readonly problems: string[]; readonly tried: number }> {
  const undamaged = await against([command]);
  const problems = undamaged.ran.exit === 0 ? [] : [`${command}: ${undamaged.ran.err}`];
  const trials = choose(trialsOf({ name: command, argv: () => [], answers: undamaged.responses }));
  const others = [...before].filter(
    ([key]) => key.startsWith("Other/") || foreign.includes(key.replace("Synced/", "")),
  );
  for (const trial of trials) {
    const { ran, stored } = await against([command], trial);
    const { path, how } = trial.mutation;
    const where = `${command}: ${undamaged.responses[trial.answer]?.request} ${path.join(".")} is ${how}`;
    for (const [key, content] of others)
      if (stored.get(key) !== content) problems.push(`${where}: ${key} was changed`);
    // Another text is a valid name, of other documents.
    if (how === "a text") continue;
    if (ran.exit === 0 && text(stored) !== text(undamaged.stored))
      problems.push(`${where}: it claims success, and ${text(stored)} is stored`);
    if (/"changed":"nothing"/.test(ran.err) && text(stored) !== text(before))
      problems.push(`${where}: it claims that no changes were made`);
  }
  return { problems, tried: trials.length };
}

const text = (stored: Stored): string => JSON.stringify([...stored].sort());
