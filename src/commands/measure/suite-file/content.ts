import { dirname, relative } from "node:path";
import { stringifyJson } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { SuiteTest, SuiteTurn } from "./read-suite.ts";

/** Hexadecimal digits of a hash: enough for the tests of a suite. */
const DIGITS = 16;

/**
 * What a test asks and expects, as a hash: that of two tests is equal if they differ only in name, place, tags and how
 * often they run or have to pass. What a file of a schema or of a program contains is not part of it.
 */
export function testContent(test: SuiteTest): string {
  const { turns, search, context, maxTokens, maxSeconds, scoreAtLeast, weights } = test;
  const { kb, query, top, documents, texts } = search ?? {};
  const parts = [
    turns.map(turnContent),
    [kb, query, top, documents, texts],
    [context, maxTokens, maxSeconds, scoreAtLeast, Object.entries(weights).toSorted()],
  ];
  return sha256(stringifyJson(parts)).slice(0, DIGITS);
}

const turnContent = ({
  query,
  inputs,
  assigned,
  expectations,
  schema,
  program,
  ...turn
}: SuiteTurn) => [
  query,
  Object.entries({ ...inputs, ...assigned }).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  expectations.map(({ name }) => name),
  [turn.answer, turn.compare, turn.similarity, turn.facts],
  [turn.supported, turn.context, turn.judge],
  // The path of a suite depends on where the command runs.
  schema && [
    schema.of,
    schema.schema,
    schema.file && relative(dirname(schema.from.path), schema.file),
  ],
  program && [program.words, program.timeout],
];
