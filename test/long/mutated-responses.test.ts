/** Mutates fields of all responses in every way, for every command that reads them. */
import { afterAll, expect, test } from "vitest";
import { seeded } from "../lib/seeded.ts";
import { complaints, played, trialsOf } from "../lib/mutated-responses.ts";
import type { Scene, Trial } from "../lib/mutated-responses.ts";
import { recordedScenes, sandboxScenes } from "../lib/mutated-scenes.ts";

/** The share of all mutations to test, chosen at random; 1 tests all. */
const share = Number(process.env["MUTATION_SHARE"] ?? 0.04);
const seed = Number(process.env["MUTATION_SEED"] ?? 20_261_121);
const random = seeded(seed);
let tried = 0;
afterAll(() => console.info(`${tried} damaged responses tested (share ${share}, seed ${seed})`));

/** Tests a field once per command, whatever list item contains it. */
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

async function expectNoComplaints(scenes: readonly Scene[]): Promise<void> {
  const failures: string[] = [];
  for (const scene of scenes) {
    const normal = await played(scene);
    for (const trial of trialsOf(scene).filter(
      (each) => isFresh(scene, each) && random() < share,
    )) {
      const { path, how } = trial.mutation;
      const where = `${scene.answers[trial.answer]?.request} ${trial.event ?? ""} ${path.join(".")}`;
      for (const each of await complaints(scene, normal, trial))
        failures.push(`${scene.name}: ${where} is ${how}: ${each}`);
      tried++;
    }
  }
  expect(failures).toEqual([]);
}

test.each([undefined, "wide", "json", "csv", "name"])(
  "commands handle recorded responses with one damaged field, as %s",
  (format) => expectNoComplaints(recordedScenes(format)),
);

const tasks = await sandboxScenes();
test.each(tasks.map((scene) => [scene.name, scene] as const))(
  "%s handles a response with one damaged field",
  (_, scene) => expectNoComplaints([scene]),
);
