/** Tasks that write, with one damaged field in one answer: what is stored is what they say. */
import { afterAll, expect, test } from "vitest";
import { begun, writingLines, wrongs } from "../lib/damaged-tasks.ts";

let tried = 0;
afterAll(() => console.info(`${tried} tasks read a damaged answer`));

const before = await begun();
/** One in so many damages, a prime: every field and every way has its turn. */
const each = Number(process.env["MUTATION_EACH"] ?? 97);

test.each(writingLines)("%s leaves the rest as it is, and says what it did", async (...line) => {
  const done = await wrongs(line, before, (trials) => trials.filter((_, at) => at % each === 0));
  tried += done.tried;
  expect(done.found).toEqual([]);
});
