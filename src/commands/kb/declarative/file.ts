import { CliError } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isObject } from "../../../lib/json.ts";
import type { FieldState, KbState } from "../snapshot/state.ts";
import { parseYaml } from "../../../lib/yaml.ts";

/** A knowledge base as a file describes it; what the file leaves out is left as it is. */
export interface KbFile {
  readonly knowledge_base: string;
  readonly description?: string;
  readonly permission?: string;
  readonly indexing_technique?: string;
  /** `provider/model`, or the model alone where one provider has it. */
  readonly embedding_model?: string;
  /** Search settings; those that are not named stay. */
  readonly retrieval_model?: Readonly<Record<string, unknown>>;
  /** All tags that are bound. */
  readonly tags?: readonly string[];
  /** Metadata fields and their types; others stay. */
  readonly metadata?: Readonly<Record<string, FieldState["type"]>>;
  readonly built_in_fields?: boolean;
  /** Documents kept in step with a directory, as `kb sync` does. */
  readonly documents?: DirectoryOf;
}

/** A directory, seen from the file, and which of its files count. */
interface DirectoryOf {
  readonly directory: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly prefix?: string;
  readonly prune?: boolean;
  /** As --adopt of `kb sync`. */
  readonly adopt?: boolean;
  /** As --max-delete of `kb sync`: a number, or a share such as `20%`. */
  readonly max_delete?: string | number;
}

type Check = (value: unknown) => string | undefined;

const isText: Check = (value) => (typeof value === "string" ? undefined : "is no text");
const among =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(String(value)) ? undefined : `is not one of ${words.join(", ")}`;

const searchFields: ReadonlySet<string> = new Set([
  "search_method",
  "reranking_enable",
  "reranking_mode",
  "reranking_model",
  "top_k",
  "score_threshold_enabled",
  "score_threshold",
  "weights",
]);

/** What may stand in a file, and what is wrong with a value. */
const checks: Readonly<Record<keyof KbFile, Check>> = {
  knowledge_base: (value) => (typeof value === "string" && value !== "" ? undefined : "is no name"),
  description: isText,
  permission: among("only_me", "all_team_members", "partial_members"),
  indexing_technique: among("high_quality", "economy"),
  embedding_model: (value) =>
    typeof value === "string" && value !== "" ? undefined : "is not a valid provider/model",
  retrieval_model: (value) => {
    if (!isObject(value)) return "is no mapping";
    const other = Object.keys(value).find((key) => !searchFields.has(key));
    return other === undefined ? undefined : `has no field ${other}`;
  },
  tags: (value) =>
    Array.isArray(value) && value.every((tag) => typeof tag === "string")
      ? undefined
      : "is no list of texts",
  metadata: (value) =>
    isObject(value)
      ? Object.entries(value)
          .filter(([, type]) => !["string", "number", "time"].includes(String(type)))
          .map(([name]) => `says of ${name} what is not one of string, number, time`)[0]
      : "is no mapping of names to types",
  built_in_fields: (value) =>
    typeof value === "boolean" ? undefined : "is neither true nor false",
  documents: (value) => {
    if (!isObject(value) || typeof value["directory"] !== "string") return "names no directory";
    return Object.entries(value)
      .map(([name, each]) => directoryProblem(name, each))
      .find((problem) => problem !== undefined);
  },
};

function directoryProblem(name: string, value: unknown): string | undefined {
  switch (name) {
    case "directory":
    case "prefix":
      return typeof value === "string" ? undefined : `has a ${name} that is no text`;
    case "include":
    case "exclude":
      return Array.isArray(value) && value.every((one) => typeof one === "string")
        ? undefined
        : `has an ${name} that is no list of texts`;
    case "max_delete":
      return /^\d+(\.\d+)?%?$/.test(String(value))
        ? undefined
        : "has a max_delete that is no number or share";
    case "adopt":
    case "prune":
      return typeof value === "boolean" ? undefined : `has a ${name} that is not true or false`;
    default:
      return `has no field ${name}`;
  }
}

/** Reads and checks a file. Throws usage with the line of what is wrong. */
export async function readKbFile(path: string, files: Files): Promise<KbFile> {
  const { isMap, isScalar } = await import("yaml");
  if ((await files.stat(path)) === null) {
    throw new CliError("usage", `there is no file ${path}`, {
      sideEffect: "none",
      hint: "kb pull <kb> writes one of a knowledge base that is there",
    });
  }
  const yaml = await parseYaml(new TextDecoder().decode(await files.read(path)));
  const wrong = (line: number, message: string, hint?: string) =>
    new CliError("usage", `${path} line ${line}: ${message}`, {
      sideEffect: "none",
      hint,
    });
  if ("problem" in yaml) throw wrong(yaml.line, yaml.problem);
  const { document, value: plain, lineAt } = yaml;
  if (!isMap(document.contents) || !isObject(plain))
    throw wrong(1, "this is no mapping", "kb pull writes one");
  for (const { key, value } of document.contents.items) {
    const line = isScalar(key) ? lineAt(key.range?.[0] ?? 0) : 1;
    const name = isScalar(key) ? String(key.value) : "";
    if (!Object.hasOwn(checks, name)) {
      const names = Object.keys(checks).join(", ");
      throw wrong(line, `there is no field ${JSON.stringify(name)}`, `fields are: ${names}`);
    }
    const check = checks[name as keyof KbFile]; // one of its keys, by the check above
    const problem = check(value === null ? null : plain[name]);
    if (problem !== undefined) throw wrong(line, `${name} ${problem}`);
  }
  const found = plain as unknown as KbFile; // every field was checked
  if (found.knowledge_base === undefined) throw wrong(1, "knowledge_base is missing");
  return found;
}

/** What a file says of a knowledge base as it is now. */
export function kbFileOf({ settings, tags, fields, built_in_fields }: KbState): KbFile {
  return {
    knowledge_base: settings.name,
    description: settings.description,
    permission: settings.permission,
    ...(settings.indexing_technique !== null && {
      indexing_technique: settings.indexing_technique,
    }),
    // One that was left behind by another technique is not in use.
    ...(settings.embedding_model !== null &&
      settings.indexing_technique !== "economy" && { embedding_model: settings.embedding_model }),
    ...(isObject(settings.retrieval_model) && {
      retrieval_model: Object.fromEntries(
        Object.entries(settings.retrieval_model).filter(([key]) => searchFields.has(key)),
      ),
    }),
    tags,
    metadata: Object.fromEntries(fields.map(({ name, type }) => [name, type])),
    built_in_fields,
  };
}
