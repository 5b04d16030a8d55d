import { expect, test } from "vitest";
import { AdaptiveLimit } from "../../src/api/adaptive-limit.ts";

const normal = { start: 3, max: 8 };

/** Ends of requests in words: `100` is a read in ms, `w100` a write, `429` a refusal; `3*100` three of them. */
function limitAfter(
  range: ConstructorParameters<typeof AdaptiveLimit>[0],
  words: string,
  wanted = true,
): number {
  const limit = new AdaptiveLimit(range);
  for (const word of words.split(" ").filter(Boolean)) {
    const [, times = "1", write, ms] = /^(?:(\d+)\*)?(w)?(\d+)$/.exec(word) ?? [];
    // Those of one word are in flight together.
    const ends = Array.from({ length: Number(times) }, () => limit.sent());
    if (wanted) limit.wantMore();
    const refused = ms === "429";
    for (const end of ends) end({ refused, ms: Number(ms), kind: write ?? "r" });
  }
  return limit.value;
}

test.each([
  ["begins at its start", normal, "", 3],
  ["never begins above its maximum", { start: 3, max: 2 }, "", 2],
  ["grows by one after as many answers as it allows", normal, "3*100", 4],
  ["does not grow before", normal, "2*100", 3],
  ["grows to its maximum", normal, "3*100 4*100 5*100 6*100 7*100 8*100 8*100", 8],
  ["is halved by a refusal", normal, "429", 2],
  ["counts refusals of requests that were in flight together once", normal, "3*429", 2],
  ["counts further refusals", normal, "3*429 2*429", 1],
  ["stays at one", { start: 1, max: 8 }, "429", 1],
  ["stays if more than one request waits at the server", normal, "3*100 4*140", 4],
  ["grows if fewer wait", normal, "3*100 4*120", 5],
  ["is halved if answers take more than twice the usual time", normal, "3*100 4*250", 2],
  ["ignores how long short requests take", normal, "3*5 4*40", 5],
  ["compares requests of one kind only", normal, "3*100 4*w900", 5],
] as const)("a limit %s", (_, range, words, expected) => {
  expect(limitAfter(range, words)).toBe(expected);
});

test("a limit that is not reached does not grow", () => {
  expect(limitAfter(normal, "3*100 3*100", false)).toBe(3);
});

test("answers that tell nothing about the server count as quick", () => {
  const limit = new AdaptiveLimit({ start: 1, max: 8 });
  const end = limit.sent();
  limit.wantMore();
  end({ refused: false, ms: undefined, kind: "r" });
  expect(limit.value).toBe(2);
});

test("a slower server becomes the usual one in the end", () => {
  const slower = limitAfter(normal, `3*100 ${"1*300 ".repeat(10)}`);
  expect(slower).toBe(1);
  expect(limitAfter(normal, `3*100 ${"1*300 ".repeat(400)}`)).toBeGreaterThan(1);
});
