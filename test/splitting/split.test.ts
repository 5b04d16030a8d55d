import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { ProcessRule } from "../../src/splitting/rule.ts";
import {
  type Part,
  splitIntoChunks,
  splitText,
  type TextChunk,
} from "../../src/splitting/split.ts";
import { sampled } from "../lib/sampled.ts";

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

test.each(["1.14.2", "1.16.1"])("tells where the chunks of %s end", (version) => {
  // oxlint-disable-next-line no-control-regex -- white space for Python
  const letters = (text: string) => text.replace(/[\s\x1c-\x1f\x85]/g, "");
  const endsWith = (source: string, { text, end }: Part) =>
    letters(source.slice(0, end)).endsWith(letters(text));
  for (const { case: name, rule, text } of sampled(7, casesOf(version))) {
    const { cleaned, chunks } = splitText(text, rule, version);
    let last = 0;
    for (const chunk of chunks) {
      expect(endsWith(cleaned, chunk), name).toBe(true);
      expect(chunk.end, name).toBeGreaterThan(last);
      last = chunk.end;
      for (const child of chunk.children ?? [])
        expect(endsWith(chunk.text, child), name).toBe(true);
    }
    // Behind the last chunk there is nothing that a chunk could have.
    expect(letters(cleaned.slice(last)).replace(/^\W+$/, ""), name).toBe("");
  }
});
