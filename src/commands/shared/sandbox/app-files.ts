import { basename, extname } from "node:path";
import { diskProblem, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import { isObject, tryParseJson } from "../../../lib/json.ts";

/** How the sandbox reads an application: as its export, or as the recording of a run. */
interface AppReaders {
  readonly readExport: (value: unknown, name: string) => object;
  readonly readRecording: (text: string, name: string) => object;
}

/**
 * Reads the applications of --app-file: exports in YAML or JSON, and recordings of runs. The name of
 * each is that of its file. Throws usage with the file and the reason.
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
    return readers.readExport(yaml.value, name);
  } catch (error) {
    const reason = diskProblem(error)?.reason ?? (error instanceof Error ? error.message : "");
    throw usage(
      `--app-file ${path}: ${reason}`,
      "export an application, or record one of its runs",
    );
  }
}

/** Reports whether the first line is one of a recording. */
function isRecording(text: string): boolean {
  const first = tryParseJson(text.trimStart().split("\n", 1)[0] ?? "");
  return isObject(first) && ("recording" in first || "event" in first);
}
