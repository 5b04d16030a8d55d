/** What holds for the chunks of any text: generated texts and rules, 100,000 with `npm run prove -- splitting`. */
import { expect, test } from "vitest";
import type { ProcessRule } from "../../src/splitting/rule.ts";
import { splitIntoChunks, splitText } from "../../src/splitting/split.ts";
import { countCharacters } from "../../src/lib/text.ts";
import { seeded } from "../lib/following.ts";
import { isProof } from "../lib/sampled.ts";

const COUNT = isProof ? 100_000 : 4_000;
const SEED = 20_261_124;
const random = seeded(SEED);
const below = (limit: number) => Math.floor(random() * limit);
const oneOf = <T>(all: readonly T[]): T => all[below(all.length)] as T;

/** What texts are made of: words, sentences, separators, signs, scripts without spaces, emoji. */
const pieces = [
  ..."a word naïve ¿qué? 30.5 https://x.example/a?b a@b.example <|x|> | # - * ``` ... ! ; 。 ！ 日本語 กขค 👍🏽".split(
    " ",
  ),
  "\n",
  "\n\n",
  "\n\n\n",
  " ",
  "  ",
  "\t",
  "\u00a0",
  "\u3000",
  "。",
  ". ",
  "! ",
  "## ",
  "| a | b |\n",
  "x".repeat(70),
  "[link](https://x.example/a_b) ",
];
const separators = ["\n", "\n\n", " ", ".", "##", "|", "。", "x"];

const textOf = () =>
  Array.from({ length: below(120) }, () => oneOf(pieces) + oneOf(["", " "])).join("");

function ruleOf(overlap: number): ProcessRule {
  const segmentation = () => ({
    separator: oneOf(separators),
    max_tokens: 50 + below(200),
    chunk_overlap: overlap,
  });
  const mode = oneOf(["custom", "hierarchical"] as const);
  return {
    mode,
    rules: {
      pre_processing_rules: [
        { id: "remove_extra_spaces", enabled: random() < 0.5 },
        { id: "remove_urls_emails", enabled: random() < 0.5 },
      ],
      segmentation: segmentation(),
      parent_mode: mode === "custom" ? null : "paragraph",
      subchunk_segmentation: mode === "custom" ? null : segmentation(),
    },
  };
}

const cases = Array.from({ length: COUNT }, (_, at) => ({
  text: textOf(),
  rule: ruleOf(at % 2 === 0 ? 0 : below(20)),
  version: oneOf(["1.14.2", "1.16.1"]),
}));

test(`no chunk of ${COUNT} texts is longer than its rule says`, () => {
  for (const [at, { text, rule, version }] of cases.entries()) {
    const { segmentation, subchunk_segmentation } = rule.rules;
    for (const { content, children = [] } of splitIntoChunks(text, rule, version)) {
      expect(countCharacters(content), `${at}`).toBeLessThanOrEqual(segmentation.max_tokens);
      for (const child of children)
        expect(countCharacters(child), `${at}`).toBeLessThanOrEqual(
          subchunk_segmentation?.max_tokens ?? 0,
        );
    }
  }
});

test(`the chunks of ${COUNT} texts are the same each time`, () => {
  for (const { text, rule, version } of cases)
    expect(splitIntoChunks(text, rule, version)).toEqual(splitIntoChunks(text, rule, version));
});

/** White space of Python, and the signs that servers remove from the start of a chunk (server §9.9). */
// oxlint-disable-next-line no-control-regex -- white space for Python
const SPACES = /[\s\x1c-\x1f\x85]+/;
// oxlint-disable-next-line no-control-regex -- the same
const DROPPED = /^[\s\x1c-\x1f\x85\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f!-/:;<=>?@^_`~。]*$/;

test("without overlap, the chunks of 1.16.1 hold every character of the cleaned text, in order", () => {
  for (const [at, { text, rule }] of cases.entries()) {
    if (rule.rules.segmentation.chunk_overlap > 0) continue;
    const { cleaned, chunks } = splitText(text, rule, "1.16.1");
    let rest = cleaned;
    const skip = (skipped: string) => {
      const { separator } = rule.rules.segmentation;
      expect(skipped.split(separator).join(""), `${at}`).toMatch(DROPPED);
    };
    for (const chunk of chunks) {
      // Between the lines and words of a chunk, white space may differ.
      for (const word of chunk.text.split(SPACES).filter(Boolean)) {
        const found = rest.indexOf(word);
        expect(found, `${at}: ${word}`).toBeGreaterThanOrEqual(0);
        skip(rest.slice(0, found));
        rest = rest.slice(found + word.length);
      }
    }
    skip(rest);
  }
});
