import { parseYaml, type Yaml } from "../../../lib/formats/yaml.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { readExport, readRecording } from "./applications.ts";
import { readAnswerRules } from "./read-rules.ts";

/**
 * Reads an application: an export or rules in YAML or JSON, or the recording of a run. Throws an Error with the
 * reason, and the line where there is one.
 */
export async function readApplication(text: string, name: string): Promise<object> {
  if (isRecording(text)) return readRecording(text, name);
  const yaml = await parseYaml(text);
  if ("problem" in yaml) throw new Error(`line ${yaml.line}: ${yaml.problem}`);
  return withLines(yaml, () => definitionOf(yaml.value, name));
}

/** The same from the parsed value of an export or rules; its errors may have the `path` of what is wrong. */
export const definitionOf = (value: unknown, name: string): object =>
  isObject(value) && "rules" in value ? readAnswerRules(value, name) : readExport(value, name);

/** Adds the line to an error that has the path of a value. */
function withLines<T>({ document, lineAt }: Exclude<Yaml, { problem: string }>, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error) || !("path" in error)) throw error;
    const node: unknown = document.getIn(error.path as Iterable<unknown>, true);
    const range: unknown = isObject(node) ? node["range"] : undefined;
    const line = lineAt(Array.isArray(range) ? Number(range[0]) : 0);
    throw new Error(`line ${line}: ${error.message}`, { cause: error });
  }
}

function isRecording(text: string): boolean {
  const first = tryParseJson(text.trimStart().split("\n", 1)[0] ?? "");
  return isObject(first) && ("recording" in first || "event" in first);
}
