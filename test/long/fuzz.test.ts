/** Random inputs for all parsers and printers: a million with `npm run prove -- fuzz`. */
import { expect, test } from "vitest";
import { fuzz } from "../lib/fuzzing/fuzz.ts";
import { grammars } from "../lib/fuzzing/grammars.ts";
import { printing } from "../lib/fuzzing/printing.ts";
import { readers } from "../lib/fuzzing/readers.ts";
import { isProof } from "../lib/sampled.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 20_261_121);

test("there are a million inputs", () => {
  const all = grammars.length * 70_000 + readers.length * 26_000 + printing.length * 20_000;
  expect(all).toBeGreaterThanOrEqual(1_000_000);
});

/** Without a proof, a fifth of the inputs. */
const share = (count: number) => (isProof ? count : count / 5);

test.each(grammars.map((each) => [each.name, each] as const))("%s", async (name, target) => {
  report(name, share(70_000), await fuzz(target, seed, share(70_000)));
});

test.each(readers.map((each) => [each.name, each] as const))("%s", async (name, target) => {
  report(name, share(26_000), await fuzz(target, seed, share(26_000)));
});

test.each(printing.map((each) => [each.name, each] as const))("%s", async (name, target) => {
  report(name, share(20_000), await fuzz(target, seed, share(20_000)));
});

function report(name: string, count: number, slowest: number): void {
  console.info(`${name}: ${count} inputs, seed ${seed}, the slowest took ${Math.ceil(slowest)} ms`);
}
