/** Tasks that write, with one damaged field in one response: they report what is stored. */
import { afterAll, expect, test } from "vitest";
import { findProblems, prepare, writingCommands } from "../lib/damaged-tasks.ts";

let tried = 0;
afterAll(() => console.info(`${tried} tasks read a damaged response`));

const before = await prepare();
/** Every nth damage; a prime, so that each field and each kind is used. */
const step = Number(process.env["MUTATION_EACH"] ?? 97);

test.each(writingCommands)(
  "%s changes nothing else and reports what it did",
  async (...command) => {
    const result = await findProblems(command, before, (trials) =>
      trials.filter((_, at) => at % step === 0),
    );
    tried += result.tried;
    expect(result.problems).toEqual([]);
  },
);
