/** What holds for the chunks of any text: generated texts and rules, 100,000 with `npm run prove -- splitting`. */
import { expect, test } from "vitest";
import { previewText } from "../../src/commands/kb/chunks/index.ts";
import { automaticRule, type ProcessRule } from "../../src/splitting/rule.ts";
import { type Part, splitIntoChunks, splitText } from "../../src/splitting/split.ts";
import { textsOfUpload } from "../../src/splitting/upload.ts";
import { countCharacters } from "../../src/lib/text.ts";
import { seeded } from "../lib/seeded.ts";
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
  rule: at % 10 === 9 ? automaticRule : ruleOf(at % 2 === 0 ? 0 : below(20)),
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

/** What makes patterns and searches slow if they look at a text again: parts of links, addresses, blocks, signs, tags. */
const repeated = [
  "<",
  "<a>",
  "## \n",
  ..."a é 👍🏽 。 # <| [ [a](http:// ]( ![ http:// http @ a@ a@b. ~~~ 日本語。".split(" "),
  " ",
  "\n",
  "\n\n\n",
  "\t ",
  "\u3000",
  "a@b.c ",
  "https://x.example ",
  "| a |\n|---|\n",
  "```\n",
  "word ",
  "Sentence. ",
  `${"x".repeat(70)} `,
];

/** ms of processor time of the fastest of three runs. */
function timeOf(text: string, rule: ProcessRule, version: string): number {
  const times = [1, 2, 3].map(() => {
    const began = process.cpuUsage();
    previewText(text, { rule, version });
    for (const section of textsOfUpload("md", text)) splitText(section, rule, version);
    return process.cpuUsage(began).user / 1000;
  });
  return Math.min(...times);
}

test.each(repeated)("texts of %j are split and previewed in linear time", (piece) => {
  const text = (length: number) => piece.repeat(Math.ceil(length / piece.length));
  const slow = [automaticRule, ruleOf(0), ruleOf(20)].flatMap((rule) => {
    const version = oneOf(["1.14.2", "1.16.1"]);
    const long = timeOf(text(400_000), rule, version);
    if (long < 100) return [];
    const short = timeOf(text(50_000), rule, version);
    return long > 24 * short ? [`${long} ms instead of ${short} ms: ${JSON.stringify(rule)}`] : [];
  });
  expect(slow).toEqual([]);
});

// oxlint-disable-next-line no-control-regex -- white space for Python
const withoutSpaces = (text: string) => text.replace(/[\s\x1c-\x1f\x85]+/g, "");
/** Signs that servers remove from the start of a chunk (server §9.9). */
const SIGNS = /^[\u2000-\u206f\u2e00-\u2e7f\u3000-\u303f!-/:;<=>?@^_`~]*$/;

/** What a text has and its parts lack, beside white space, separators and signs; undefined if nothing. */
function lost(source: string, parts: readonly Part[], separator: string): string | undefined {
  let rest = withoutSpaces(source);
  for (const text of [...parts.map((part) => withoutSpaces(part.text)), ""]) {
    const found = text === "" ? rest.length : rest.indexOf(text);
    if (found < 0) return text;
    const skipped = rest.slice(0, found).split(separator).join("");
    if (!SIGNS.test(skipped)) return skipped;
    rest = rest.slice(found + text.length);
  }
  return undefined;
}

test("without overlap, the chunks of 1.16.1 hold every character of the cleaned text, in order", () => {
  for (const [at, { text, rule }] of cases.entries()) {
    const { segmentation, subchunk_segmentation } = rule.rules;
    if (segmentation.chunk_overlap > 0) continue;
    const { cleaned, chunks } = splitText(text, rule, "1.16.1");
    expect(lost(cleaned, chunks, segmentation.separator), `${at}`).toBeUndefined();
    for (const { text: parent, children } of chunks)
      if (children)
        expect(
          lost(parent, children, subchunk_segmentation?.separator ?? ""),
          `${at}`,
        ).toBeUndefined();
  }
});
