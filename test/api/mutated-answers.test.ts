/** Some of the damaged answers of test/long/mutated-answers.test.ts, and those that once were told falsely. */
import { afterAll, expect, test } from "vitest";
import { seeded } from "../lib/following.ts";
import { complaints, played, trialsOf } from "../lib/mutated-answers.ts";
import type { Scene, Trial } from "../lib/mutated-answers.ts";
import { recordedScenes, sandboxScenes } from "../lib/mutated-scenes.ts";

const seed = Number(process.env["MUTATION_SEED"] ?? 20_261_121);
const random = seeded(seed);
let tried = 0;
afterAll(() => console.info(`${tried} damaged answers tried (seed ${seed})`));

/** So many of them, chosen by chance. */
const chosen = <T>(all: readonly T[], count: number): T[] =>
  all
    .map((each) => ({ each, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ each }) => each);

/** Damages that once were told falsely: by the line, the field and the way. */
const falsely: readonly (readonly [line: RegExp, field: string, how: string])[] = [
  [/logs export .*csv/, "data.0.workflow_run", "removed"],
  [/logs --follow/, "data.0.workflow_run", "removed"],
  [/diff PAUSED/, "data.elapsed_time", "a number that is too large"],
  [/apply/, "data.0.name", "null"],
  [/apply/, "tags.0.name", "an empty text"],
  [/sync|export/, "data", "an empty list"],
  [/eval/, "retrieval_model_dict.top_k", "a negative number"],
];

const onceFalse = ({ name }: Scene, { mutation: { path, how } }: Trial): boolean =>
  falsely.some(([line, field, way]) => line.test(name) && field === path.join(".") && way === how);

async function holds(scenes: readonly Scene[], each: number): Promise<void> {
  const found: string[] = [];
  for (const scene of scenes) {
    const usual = await played(scene);
    const trials = trialsOf(scene);
    const known = trials.filter((trial) => onceFalse(scene, trial));
    for (const trial of [...known, ...chosen(trials, each)]) {
      const { path, how } = trial.mutation;
      for (const complaint of await complaints(scene, usual, trial))
        found.push(`${scene.name}: ${path.join(".")} is ${how}: ${complaint}`);
      tried++;
    }
  }
  expect(found).toEqual([]);
}

test("recorded answers with one damaged field are told truly", () =>
  holds(chosen(recordedScenes(undefined), 25), 3));

const tasks =
  /verify \.|logs export .*csv|timeline PAUSED$|diff PAUSED|follow -o jsonl|chunk delete|tag delete|apply|doc wait H|eval .*json$|export .*chunks|sync .*-y|import|metadata set .*-o|^wf run --(blocking|input query=hello --record|each)|wait RUN|logs --all$|stats .*d$|form submit/;

test("tasks that read one damaged field tell it truly", async () =>
  holds(await sandboxScenes(tasks), 5));
