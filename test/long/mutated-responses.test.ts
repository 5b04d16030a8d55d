/** Fields of all answers are damaged in every way, for every command that reads them. */
import { afterAll, expect, test } from "vitest";
import { seeded } from "../lib/following.ts";
import { complaints, played, trialsOf } from "../lib/mutated-responses.ts";
import type { Scene, Trial } from "../lib/mutated-responses.ts";
import { recordedScenes, sandboxScenes } from "../lib/mutated-scenes.ts";

/** So much of all damages, chosen by chance; 1 is all of them. */
const share = Number(process.env["MUTATION_SHARE"] ?? 0.15);
const seed = Number(process.env["MUTATION_SEED"] ?? 20_261_121);
const random = seeded(seed);
let tried = 0;
afterAll(() => console.info(`${tried} damaged answers tried (share ${share}, seed ${seed})`));

/** A field counts once for a line, in whatever item of whatever list it stands. */
const seen = new Set<string>();
function isFresh(scene: Scene, { answer, event, mutation: { path, how } }: Trial): boolean {
  const request = scene.answers[answer]?.request.replace(/\?.*|[0-9a-f]{8}-[0-9a-f-]{27}/g, "");
  const field = path.map((step) => (typeof step === "number" ? "*" : step));
  const line = [scene.argv("."), scene.world?.env, request, event !== undefined];
  const key = JSON.stringify([line, field, how]);
  if (seen.has(key)) return false;
  seen.add(key);
  return true;
}

async function holds(scenes: readonly Scene[]): Promise<void> {
  const found: string[] = [];
  for (const scene of scenes) {
    const usual = await played(scene);
    for (const trial of trialsOf(scene).filter(
      (each) => isFresh(scene, each) && random() < share,
    )) {
      const { path, how } = trial.mutation;
      const where = `${scene.answers[trial.answer]?.request} ${trial.event ?? ""} ${path.join(".")}`;
      for (const each of await complaints(scene, usual, trial))
        found.push(`${scene.name}: ${where} is ${how}: ${each}`);
      tried++;
    }
  }
  expect(found).toEqual([]);
}

test.each([undefined, "wide", "json", "csv", "name"])(
  "recorded answers with one damaged field are told truly, as %s",
  (format) => holds(recordedScenes(format)),
);

const tasks = await sandboxScenes();
test.each(tasks.map((scene) => [scene.name, scene] as const))(
  "%s with one damaged field in one answer is told truly",
  (_, scene) => holds([scene]),
);
