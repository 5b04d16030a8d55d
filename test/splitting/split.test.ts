import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ProcessRule } from "../../src/splitting/rule.ts";
import { splitIntoChunks, type TextChunk } from "../../src/splitting/split.ts";

/** A text as a server of a version split it. */
interface Case {
  readonly case: string;
  readonly rule: ProcessRule;
  readonly text: string;
  readonly chunks: readonly TextChunk[];
}

const casesOf = (version: string): readonly Case[] =>
  readFileSync(new URL(`${version}.jsonl`, import.meta.url), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Case);

test.each(["1.14.2", "1.16.1"])("splits each text as a server of %s did", (version) => {
  const cases = casesOf(version);
  expect(cases).toHaveLength(370);
  for (const { case: name, rule, text, chunks } of cases)
    expect(splitIntoChunks(text, rule, version), name).toEqual(chunks);
});
