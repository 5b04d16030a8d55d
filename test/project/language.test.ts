import { expect, test } from "vitest";
import { pageProse, sourceProse, testProse } from "../lib/prose.ts";
import type { Prose } from "../lib/prose.ts";

/** Phrases that are not plain technical English here, each with what to write instead. */
const banned: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/(?<!\bthere )\bis no (?!longer\b)/i, "is not a valid …"],
  [/\b(when|where) absent\b/i, "(default …)"],
  [/\bnobody\b/i, "not found"],
  [/\bis there already\b/i, "already exists"],
  [/\bis gone already\b/i, "already deleted"],
  [/\b(goes|going) on\b/i, "continues"],
  [/\ba person\b/i, "waiting for human input"],
  [/\bof ours\b/i, "internal"],
  [/\bmakes no sense\b/i, "invalid"],
  [/\bthe thing\b/i, "its name"],
  [/\bas typed\b/i, "as entered"],
  [/\bleft out\b/i, "skipped"],
  [/\bwhat was\b/i, "name it"],
  [/\bin earnest\b/i, ""],
  [/\bin step\b/i, "up to date"],
  [/\b(broke|breaks) off\b/i, "truncated"],
  [/\bwent silent\b/i, "idle timeout"],
  [/\bthere is no .* called\b/i, "not found"],
  [/\bin vain\b/i, "without success"],
  [/\bwhoever\b/i, "name it"],
  [/\btime-out\b/i, "timeout"],
  [/\bthe server says no\b/i, "rejected by the server"],
  [/\bpatience\b/i, "timeout, delay"],
  [/\blanes?\b/i, "concurrency limit"],
  [/\bnothing is said\b/i, "(default …)"],
  [/\bstandard (input|output|error)\b/i, "stdin, stdout, stderr"],
];

/** Places where a phrase is right, and why. */
const allowed: readonly (readonly [file: RegExp, text: RegExp, why: string])[] = [
  [/^test\/project\/language\.test\.ts$/, /./, "the list itself"],
  [
    /^src\/commands\/measure\/suites\/answers\/facts\.ts$/,
    /\bnobody nothing\b/,
    "words that negate",
  ],
  [
    /^examples\/handbook\//,
    /./,
    "documents of an invented company, with which searches are tested",
  ],
];

const isAllowed = ({ file, text }: Prose): boolean =>
  allowed.some(([place, words]) => place.test(file) && words.test(text));

test.each([
  ["strings and comments of the source", sourceProse],
  ["test titles and comments", testProse],
  ["pages and examples", pageProse],
])("%s are in plain words", (_, prose) => {
  const lines = prose();
  expect(lines.length).toBeGreaterThan(500);
  const found = lines
    .filter((line) => !isAllowed(line))
    .flatMap((line) =>
      banned
        .filter(([phrase]) => phrase.test(line.text))
        .map(
          ([phrase, instead]) => `${line.file}:${line.line} ${phrase} → ${instead}: ${line.text}`,
        ),
    );
  expect(found).toEqual([]);
});
