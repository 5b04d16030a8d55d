import { expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";
import type { World } from "../../lib/support.ts";

const server = await testSandbox({ speed: 100 });
const folder = await temporaryDirectory();
const wf = (app: string, line: string, world: World = {}) =>
  server.cli(["wf", "--app", app, ...line.split(" ")], { folder, ...world });

/** A run that is paused. */
async function paused(app: string): Promise<string> {
  const ran = await wf(app, "run query=x -o name");
  expect(ran.exit).toBe(8);
  return ran.out.trim();
}
const approve = "--action approve --input comment=fine";
const statusOf = async (app: string, run: string) =>
  (await wf(app, `wait ${run} --jq .status`)).out.trim();

test("last is the form of the newest run that waits", async () => {
  const [older, newer] = [await paused("review"), await paused("review")];
  const shown = await wf("review", "form show last --jq .form_content");
  expect(shown.out).toContain("Please review: x");
  expect((await wf("review", `form submit last ${approve}`)).exit).toBe(0);
  expect([await statusOf("review", newer), await statusOf("review", older)]).toEqual([
    "succeeded",
    "paused",
  ]);
  // Then the other one is the newest that waits.
  expect((await wf("review", `form submit last ${approve}`)).exit).toBe(0);
  expect(await statusOf("review", older)).toBe("succeeded");
  const none = await wf("review", `form submit last ${approve}`);
  expect(none.exit).toBe(3);
  expect(none.err).toContain("no paused run has a form that can be submitted here");
});

test("the ID of a run is its form, and of a run without one nothing is submitted", async () => {
  const [older] = [await paused("review"), await paused("review")];
  expect((await wf("review", `form submit ${older} ${approve}`)).exit).toBe(0);
  expect(await statusOf("review", older)).toBe("succeeded");
  const again = await wf("review", `form submit ${older} ${approve}`);
  expect(again.exit).toBe(3);
  expect(again.err).toContain(`run ${older} is not waiting for a form`);
  expect((await wf("review", `form submit last ${approve}`)).exit).toBe(0);
});

test("without a token, a pipe is told what there is, and a terminal is asked", async () => {
  const [older, newer] = [await paused("review"), await paused("review")];
  const piped = await wf("review", `form submit ${approve}`);
  expect(piped).toMatchObject({ exit: 2, out: "" });
  expect(piped.err).toContain("which form? <token> is missing");
  expect(piped.err).toContain("`wf form submit last --app review` takes the newest");
  const questions: string[] = [];
  const asked = await wf("review", `form show`, { tty: true, answers: ["2"], questions });
  expect(asked.exit, asked.err).toBe(0);
  expect(asked.err).toMatch(
    new RegExp(`1.*Review {2}run ${newer.slice(0, 8)}[^]*2.*Review {2}run ${older.slice(0, 8)}`),
  );
  for (const run of [older, newer]) await wf("review", `form submit ${run} ${approve}`);
});
