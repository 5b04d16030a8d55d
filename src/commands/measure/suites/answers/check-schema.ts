import type { ErrorObject } from "ajv";
import { CliError, reasonOf, usage } from "../../../../errors.ts";
import type { Files } from "../../../../host/host.ts";
import { tryParseJson, valueAt } from "../../../../lib/json.ts";
import type { RunTrace } from "../../../../runs/trace.ts";
import { withinSecond } from "../../../conditions/index.ts";
import { quoted, runFields } from "../../../wf/expect/index.ts";
import type { SuiteSchema } from "../../suite-file/index.ts";
import { jsonIn } from "./compare-answer.ts";
import { firstDifferences } from "./facts.ts";

/**
 * Compiles a schema of draft 2020-12, or of draft 7 if it says so. The returned function checks an
 * output of a run, or the JSON in its `text`. Throws `usage` for a file or a schema that is not valid.
 */
export async function openSchema({ from, of, file, schema: own }: SuiteSchema, files: Files) {
  const place = `${from.path} line ${from.line}: schema${file === undefined ? "" : ` ${file}`}`;
  const wrong = (problem: string) => usage(`${place} ${problem}`);
  let schema: unknown = own;
  if (file !== undefined) {
    const bytes = await files.read(file).catch((error: unknown) => {
      throw wrong(`cannot be read: ${reasonOf(error)}`);
    });
    schema = tryParseJson(new TextDecoder().decode(bytes));
  }
  if (typeof schema !== "object" || schema === null) throw wrong("is not a JSON Schema");
  const isOld = /draft-0[4-7]/.test(String(valueAt(schema, "$schema")));
  const { Ajv } = isOld ? await import("ajv") : { Ajv: (await import("ajv/dist/2020.js")).Ajv2020 };
  // Such a one would answer with a promise.
  if (valueAt(schema, "$async") !== undefined) throw wrong("is not valid: it has $async");
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true });
  const validate = await Promise.resolve(schema)
    .then((valid) => ajv.compile(valid))
    .catch((error: unknown) => {
      if (error instanceof CliError) throw error;
      throw wrong(error instanceof RangeError ? endless : `is not valid: ${reasonOf(error)}`);
    });
  const check = `${of === undefined ? "the answer" : `output ${quoted(of)}`} fits the schema`;
  return (trace: RunTrace) => {
    const said: unknown =
      of === undefined ? runFields.text.read(trace).value : valueAt(trace.outputs, of);
    // Models write JSON into texts. An output that is meant as a text fits as it is.
    const value = typeof said === "string" ? jsonIn(said) : said;
    const meant = of === undefined ? [value] : [said, value];
    const compare = () => meant.some((each) => each !== undefined && validate(each));
    const fits = withinSecond(() => {
      try {
        return compare();
      } catch (error) {
        throw error instanceof RangeError ? wrong(endless) : error;
      }
    });
    if (fits) return { check, passed: true, actual: "it fits" };
    if (fits === undefined) return { check, passed: false, actual: "it takes too long to compare" };
    if (value === undefined)
      return { check, passed: false, actual: `it is not JSON: ${quoted(said ?? "")}` };
    return { check, passed: false, actual: firstDifferences(validate.errors ?? [], problemOf) };
  };
}

const endless = "refers to itself without an end, or is nested too deeply";

const problemOf = ({ instancePath, message = "does not fit" }: ErrorObject): string =>
  `${instancePath || "it"} ${message}`;
