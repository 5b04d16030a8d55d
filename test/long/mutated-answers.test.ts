/** Every field of every answer is damaged in every way, for every command that reads it. */
import { afterAll, expect, test } from "vitest";
import { complaints, played, trialsOf } from "../mutated-answers.ts";
import type { Scene, Trial } from "../mutated-answers.ts";
import { recordedScenes, sandboxScenes } from "../mutated-scenes.ts";

let tried = 0;
afterAll(() => console.info(`${tried} damaged answers tried`));

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
    for (const trial of trialsOf(scene).filter((each) => isFresh(scene, each))) {
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
