import { basename, extname } from "node:path";
import { diskProblem, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { parseYaml, type Yaml } from "../../../lib/formats/yaml.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";

/** How the sandbox reads an application: an export, a recording of a run, or rules. */
interface AppReaders {
  readonly readExport: (value: unknown, name: string) => object;
  readonly readRecording: (text: string, name: string) => object;
  /** Its errors have the `path` of the value that is wrong. */
  readonly readAnswerRules: (value: unknown, name: string) => object;
}

/**
 * Reads the applications of --app-file: exports and rules in YAML or JSON, and recordings of runs. The
 * name of each is that of its file. Throws usage with the file and the reason.
 */
export function readAppFiles(
  paths: readonly string[],
  host: Host,
  readers: AppReaders,
): Promise<object[]> {
  return Promise.all(paths.map((path) => readAppFile(path, host, readers)));
}

async function readAppFile(path: string, host: Host, readers: AppReaders): Promise<object> {
  const name = basename(path, extname(path));
  try {
    if (!/^[\w.-]+$/.test(name)) {
      throw new Error("its name becomes part of a key: use only letters, digits, - . and _");
    }
    const text = new TextDecoder().decode(await host.files.read(path));
    if (isRecording(text)) return readers.readRecording(text, name);
    const yaml = await parseYaml(text);
    if ("problem" in yaml) throw new Error(`line ${yaml.line}: ${yaml.problem}`);
    const { value } = yaml;
    if (!isObject(value) || !("rules" in value)) return readers.readExport(value, name);
    return withLines(yaml, () => readers.readAnswerRules(value, name));
  } catch (error) {
    const reason = diskProblem(error)?.reason ?? (error instanceof Error ? error.message : "");
    throw usage(
      `--app-file ${path}: ${reason}`,
      "export an application, record one of its runs, or write rules",
    );
  }
}

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

/** Reports whether the first line is one of a recording. */
function isRecording(text: string): boolean {
  const first = tryParseJson(text.trimStart().split("\n", 1)[0] ?? "");
  return isObject(first) && ("recording" in first || "event" in first);
}
