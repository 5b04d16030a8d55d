import { expect, test } from "vitest";
import { checkValue } from "../../src/cli/parse/values.ts";
import type { Sources } from "../../src/cli/parse/values.ts";
import { CliError } from "../../src/errors.ts";
import { body, local, query } from "../../src/operations/operation.ts";
import type { Param } from "../../src/operations/operation.ts";
import { processRuleShape, retrievalShape } from "../../src/operations/shared.ts";

const now = new Date("2026-11-21T10:30:00Z");
const sources: Sources = {
  now: () => now,
  timeZone: () => "Asia/Tokyo",
  text: (path) => Promise.resolve(path === "a.json" ? '{"a":1}' : ""),
  file: (path) => Promise.resolve({ path, name: path }),
  stat: () => Promise.resolve(null),
};
const name = body.text("Name", { length: [1, 40] });
const technique = body.choice(["high_quality", "economy"], "How");
const settings = body.json("Settings", { shape: retrievalShape });
const rule = body.json("Rule", { shape: processRuleShape });
const whole = {
  search_method: "keyword_search",
  reranking_enable: false,
  top_k: 3,
  score_threshold_enabled: false,
};

test.each<[string, Param, string, unknown]>([
  ["text", name, "söme/va#lue", "söme/va#lue"],
  ["characters are counted, not bytes", name, "日".repeat(40), "日".repeat(40)],
  ["an emoji is one character", body.text("x", { length: [1, 1] }), "🎉", "🎉"],
  ["a choice", technique, "economy", "economy"],
  ["a whole number", local.integer("x", { range: [1, 10] }), "10", 10],
  ["a number", local.number("x"), "-0.5e1", -5],
  ["a duration", local.duration("x"), "1h30m", 5_400_000],
  ["bare seconds", local.duration("x"), "90", 90_000],
  [
    "a UUID",
    local.uuid("x"),
    "0190F2B4-5f6a-7c31-9d2e-3f4a5b6c7d8e",
    "0190F2B4-5f6a-7c31-9d2e-3f4a5b6c7d8e",
  ],
  ["JSON", body.json("x"), '[1,null,"ä"]', [1, null, "ä"]],
  ["JSON from a file", body.json("x"), "@a.json", { a: 1 }],
  [
    "search settings with unknown fields",
    settings,
    JSON.stringify({ ...whole, new: 1 }),
    { ...whole, new: 1 },
  ],
  [
    "an ISO time, unchanged",
    query.time("x"),
    "2026-05-01T10:00:00+02:00",
    "2026-05-01T10:00:00+02:00",
  ],
  ["a date, unchanged", query.time("x"), "2026-05-01", "2026-05-01"],
  ["now", query.time("x"), "now", "2026-11-21T10:30:00Z"],
  ["two hours ago", query.time("x"), "2h", "2026-11-21T08:30:00Z"],
  ["two hours ago with a minus", query.time("x"), "-2h", "2026-11-21T08:30:00Z"],
  ["a day in the local zone", query.time("x"), "yesterday", "2026-11-19T15:00:00Z"],
  ["epoch seconds", query.time("x"), "1795219614", "2026-11-21T00:06:54Z"],
])("%s is accepted", async (_, param, typed, value) => {
  expect(await checkValue("--x", param, typed, sources)).toEqual(value);
});

test.each<[string, Param, string, string]>([
  [
    "too long",
    name,
    "x".repeat(41),
    `--x "${"x".repeat(41)}" has 41 characters; 1 to 40 are allowed`,
  ],
  ["too short", name, "", "--x has 0 characters; 1 to 40 are allowed"],
  ["a NUL character", name, "a\0b", '--x "a\\u0000b" contains a NUL character'],
  ["an unknown choice", technique, "cheap", '--x "cheap" is not one of high_quality, economy'],
  ["a fraction for a whole number", local.integer("x"), "1.5", '--x "1.5" is not a whole number'],
  [
    "a number beyond the range",
    local.integer("x", { range: [1, 10] }),
    "11",
    '--x "11" is not between 1 and 10',
  ],
  ["a hexadecimal number", local.number("x"), "0x10", '--x "0x10" is not a number'],
  ["infinity", local.number("x"), "1e999", '--x "1e999" is not a number'],
  ["an invalid UUID", local.uuid("x"), "abc", '--x "abc" is not a UUID'],
  [
    "an invalid duration",
    local.duration("x"),
    "5 minutes",
    '--x "5 minutes" is not a valid duration',
  ],
  ["an invalid time", query.time("x"), "tomorrow", '--x "tomorrow" is not a valid time'],
  [
    "a day that its month lacks",
    query.time("x"),
    "2026-02-30T10:00Z",
    '--x "2026-02-30T10:00Z" is not a valid time',
  ],
  [
    "a day that does not exist",
    query.time("x"),
    "2026-13-40",
    '--x "2026-13-40" is not a valid time',
  ],
  [
    "a missing field",
    settings,
    '{"search_method":"keyword_search"}',
    "--x.reranking_enable is missing",
  ],
  [
    "a field of the wrong type",
    settings,
    JSON.stringify({ ...whole, top_k: "3" }),
    '--x.top_k "\\"3\\"" is not a whole number',
  ],
  [
    "an unknown choice in a nested field",
    settings,
    JSON.stringify({ ...whole, search_method: "magic" }),
    '--x.search_method "\\"magic\\"" is not one of keyword_search, semantic_search, full_text_search, hybrid_search',
  ],
  [
    "a nested number beyond its range",
    rule,
    '{"mode":"custom","rules":{"pre_processing_rules":[],"segmentation":{"max_tokens":10}}}',
    '--x.rules.segmentation.max_tokens "10" is not between 50 and 4000',
  ],
])("%s is rejected with the value and the limit", async (_, param, typed, message) => {
  const error = await checkValue("--x", param, typed, sources).catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(CliError);
  expect(error).toMatchObject({ kind: "usage", message });
});

test("a long value is truncated in the message", async () => {
  const error = await checkValue("--x", name, "x".repeat(10_000_000), sources).catch(
    (failure: unknown) => failure,
  );
  expect((error as CliError).message.length).toBeLessThan(200); // the test above shows its class
});
