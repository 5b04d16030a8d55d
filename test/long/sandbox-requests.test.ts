/** Sends every payload in every parameter of every operation of the sandbox. */
import { expect, test } from "vitest";
import { openStage, payloads, targets } from "../lib/fuzzing/requests.ts";

test("no request crashes the sandbox or changes data of other users", async () => {
  const stage = await openStage();
  const before = await stage.others();
  let sent = 0;
  for (const target of targets) {
    for (const payload of payloads) {
      await stage.send({ ...target, payload });
      sent++;
    }
    expect([target.row.id, target.name, await stage.others()]).toEqual([
      target.row.id,
      target.name,
      before,
    ]);
  }
  expect(stage.bugs).toEqual([]);
  await stage.stop();
  console.info(`${sent} requests, ${targets.length} parameters`);
});
