/** A sample of the damaged responses of test/long/mutated-responses.test.ts, and those that once caused bugs. */
import { afterAll, expect, test } from "vitest";
import { sampled } from "../lib/sampled.ts";
import { seeded } from "../lib/seeded.ts";
import { complaints, played, trialsOf } from "../lib/mutated-responses.ts";
import type { Scene, Trial } from "../lib/mutated-responses.ts";
import { recordedScenes, sandboxScenes } from "../lib/mutated-scenes.ts";

const seed = Number(process.env["MUTATION_SEED"] ?? 20_261_121);
const random = seeded(seed);
let tried = 0;
afterAll(() => console.info(`${tried} damaged responses tested (seed ${seed})`));

/** A random sample. */
const sample = <T>(all: readonly T[], count: number): T[] =>
  all
    .map((each) => ({ each, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ each }) => each);

/** Mutations that once caused bugs: by command, field and kind. */
const regressions: readonly (readonly [line: RegExp, field: string, how: string])[] = [
  [/logs export .*csv/, "data.0.workflow_run", "removed"],
  [/logs --follow/, "data.0.workflow_run", "removed"],
  [/diff PAUSED/, "data.elapsed_time", "a number that is too large"],
  [/apply/, "data.0.name", "null"],
  [/apply/, "tags.0.name", "an empty text"],
  [/sync|export/, "data", "an empty list"],
  [/eval/, "retrieval_model_dict.top_k", "a negative number"],
];

const isRegression = ({ name }: Scene, { mutation: { path, how } }: Trial): boolean =>
  regressions.some(
    ([line, field, way]) => line.test(name) && field === path.join(".") && way === how,
  );

async function expectNoComplaints(scenes: readonly Scene[], each: number): Promise<void> {
  const failures: string[] = [];
  for (const scene of scenes) {
    const normal = await played(scene);
    const trials = trialsOf(scene);
    const known = trials.filter((trial) => isRegression(scene, trial));
    for (const trial of [...known, ...sample(trials, each)]) {
      const { path, how } = trial.mutation;
      for (const complaint of await complaints(scene, normal, trial))
        failures.push(`${scene.name}: ${path.join(".")} is ${how}: ${complaint}`);
      tried++;
    }
  }
  expect(failures).toEqual([]);
}

test("commands handle recorded responses with one damaged field", () =>
  expectNoComplaints(sampled(5, sample(recordedScenes(undefined), 10)), 2));

const tasks =
  /verify \.|logs export .*csv|timeline PAUSED$|diff PAUSED|follow -o jsonl|chunk delete|tag delete|apply|doc wait H|eval .*json$|export .*chunks|sync .*-y|import|metadata set .*-o|^wf run --(blocking|input query=hello --record|each)|wait RUN|logs --all$|stats .*d$|form submit/;

test("tasks handle responses with one damaged field", async () =>
  expectNoComplaints(sampled(6, await sandboxScenes(tasks)), 2));
