import { keysAt, nestedLevels, turnKeys } from "./keys.ts";
import type { SuiteKey, SuiteKeyType, SuiteLevel } from "./keys.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Prints the JSON Schema of a suite, of draft 7, which the language servers of editors read. It holds
 * the keys and the types of their values; what only the command knows is missing: the language of
 * conditions, names that are there twice, and applications.
 */
export async function* run(): AsyncGenerator<Schema> {
  yield suiteSchema();
}

/** The JSON Schema of a suite. */
export const suiteSchema = (): Schema => ({
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Suite of tests for wf test run",
  ...mappingAt("suite"),
  patternProperties: { "^x-": true },
  required: ["tests"],
  definitions: {
    defaults: mappingAt("defaults"),
    test: {
      ...mappingAt("test"),
      required: ["name"],
      dependencies: {
        turns: { properties: Object.fromEntries(turnKeys.map((key) => [key, false])) },
      },
    },
    turn: mappingAt("turn"),
    ...Object.fromEntries(nestedLevels.map((level) => [level, mappingAt(level)])),
    expectations: {
      type: "object",
      properties: { checks: listOf(textSchema) },
      additionalProperties: false,
    },
  },
});

const mappingAt = (level: SuiteLevel): Schema => ({
  type: "object",
  properties: Object.fromEntries(
    keysAt(level).map((key) => [
      key.name,
      { description: key.description, ...schemas[key.type](key) },
    ]),
  ),
  additionalProperties: false,
});

/** A text as YAML writes it: numbers and true are texts, too. */
const textSchema = { type: ["string", "number", "boolean"] } as const;

const listOf = (items: Schema): Schema => ({ type: "array", items });
const defined = (name: string): Schema => ({ $ref: `#/definitions/${name}` });

const numberSchema = ({ type, range }: SuiteKey): Schema => ({
  type,
  minimum: range?.[0],
  maximum: range?.[1],
});

const schemas: Readonly<Record<SuiteKeyType, (key: SuiteKey) => Schema>> = {
  text: () => textSchema,
  date: () => ({ type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\d$" }),
  texts: () => ({ anyOf: [textSchema, listOf(textSchema)] }),
  flag: () => ({ type: "boolean" }),
  number: numberSchema,
  integer: numberSchema,
  choice: ({ values }) => ({ enum: values }),
  inputs: () => ({ type: "object" }),
  expect: () => ({ anyOf: [textSchema, listOf(textSchema), defined("expectations")] }),
  judge: () => ({ anyOf: [textSchema, defined("judge")] }),
  // Besides a reference, draft 7 ignores the description.
  search: () => ({ allOf: [defined("search")] }),
  supported: () => ({ anyOf: [{ type: "boolean" }, defined("supported")] }),
  context: () => ({ anyOf: [{ type: "number", minimum: 0, maximum: 1 }, defined("context")] }),
  schema: () => ({ anyOf: [textSchema, { type: "object" }] }),
  check: () => ({ allOf: [defined("check")] }),
  pass: () => ({
    anyOf: [{ const: "all" }, { type: "number", minimum: 0, maximum: 1 }, defined("pass")],
  }),
  quarantine: (key) => ({ anyOf: [schemas.date(key), defined("quarantine")] }),
  budget: () => ({ allOf: [defined("budget")] }),
  weights: ({ values = [], ...key }) => ({
    type: "object",
    properties: Object.fromEntries(
      values.map((kind) => [kind, numberSchema({ ...key, type: "number" })]),
    ),
    additionalProperties: false,
  }),
  defaults: () => ({ allOf: [defined("defaults")] }),
  turns: () => ({ ...listOf(defined("turn")), minItems: 1 }),
  tests: () => ({ ...listOf(defined("test")), minItems: 1 }),
};
