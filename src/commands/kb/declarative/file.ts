import { usage } from "../../../errors.ts";
import type { Files } from "../../../host/host.ts";
import { isObject } from "../../../lib/json.ts";
import { shellQuote } from "../../../lib/shell-quote.ts";
import { parseYaml } from "../../../lib/yaml.ts";
import type { FieldState, KbState } from "../documents/index.ts";

/** A file that describes a knowledge base; settings that it omits are kept. */
export interface KbFile {
  readonly knowledge_base: string;
  readonly description?: string;
  readonly permission?: string;
  readonly indexing_technique?: string;
  /** `provider/model`, or the model alone if one provider has it. */
  readonly embedding_model?: string;
  /** Search settings; others are kept. */
  readonly retrieval_model?: Readonly<Record<string, unknown>>;
  /** All bound tags. */
  readonly tags?: readonly string[];
  /** Metadata fields and their types; others are kept. */
  readonly metadata?: Readonly<Record<string, FieldState["type"]>>;
  readonly built_in_fields?: boolean;
  /** Documents to sync from a directory, with the flags of `kb sync`. */
  readonly documents?: SyncedDirectory;
}

interface SyncedDirectory {
  /** Relative to the file. */
  readonly directory: string;
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly prefix?: string;
  readonly prune?: boolean;
  readonly adopt?: boolean;
  /** A number, or a percentage such as `20%`. */
  readonly max_delete?: string | number;
}

/** Returns the problem of a value, to follow its name. */
type Check = (value: unknown) => string | undefined;

const isString: Check = (value) => (typeof value === "string" ? undefined : "must be a string");
const among =
  (...words: readonly string[]): Check =>
  (value) =>
    words.includes(String(value)) ? undefined : `must be one of ${words.join(", ")}`;

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

/** Checks for the fields of a file. */
const checks: Readonly<Record<keyof KbFile, Check>> = {
  knowledge_base: (value) =>
    typeof value === "string" && value !== "" ? undefined : "must be a name",
  description: isString,
  permission: among("only_me", "all_team_members", "partial_members"),
  indexing_technique: among("high_quality", "economy"),
  embedding_model: (value) =>
    typeof value === "string" && value !== "" ? undefined : "must be provider/model",
  retrieval_model: (value) => {
    if (!isObject(value)) return "must be a mapping";
    const unknown = Object.keys(value).find((key) => !searchFields.has(key));
    return unknown === undefined ? undefined : `has an unknown field ${unknown}`;
  },
  tags: (value) =>
    Array.isArray(value) && value.every((tag) => typeof tag === "string")
      ? undefined
      : "must be a list of strings",
  metadata: (value) =>
    isObject(value)
      ? Object.entries(value)
          .filter(([, type]) => !["string", "number", "time"].includes(String(type)))
          .map(([name]) => `has a type for ${name} that is not one of string, number, time`)[0]
      : "must be a mapping of names to types",
  built_in_fields: (value) => (typeof value === "boolean" ? undefined : "must be true or false"),
  documents: (value) => {
    if (!isObject(value) || typeof value["directory"] !== "string") return "must have a directory";
    return Object.entries(value)
      .map(([name, each]) => documentsProblem(name, each))
      .find((problem) => problem !== undefined);
  },
};

/** Returns the problem of one field of `documents`. */
function documentsProblem(name: string, value: unknown): string | undefined {
  switch (name) {
    case "directory":
    case "prefix":
      return typeof value === "string" ? undefined : `has a ${name} that is not a string`;
    case "include":
    case "exclude":
      return Array.isArray(value) && value.every((one) => typeof one === "string")
        ? undefined
        : `has an ${name} that is not a list of strings`;
    case "max_delete":
      return /^\d+(\.\d+)?%?$/.test(String(value))
        ? undefined
        : "has a max_delete that is not a number or percentage";
    case "adopt":
    case "prune":
      return typeof value === "boolean" ? undefined : `has a ${name} that is not true or false`;
    default:
      return `has an unknown field ${name}`;
  }
}

/** Reads and checks a file. Throws usage with the line of the problem. */
export async function readKbFile(path: string, files: Files): Promise<KbFile> {
  const { isMap, isScalar } = await import("yaml");
  if ((await files.stat(path)) === null) {
    throw usage(
      `file ${path} not found`,
      `write one with kb pull <kb> --output-file ${shellQuote(path)}`,
    );
  }
  const yaml = await parseYaml(new TextDecoder().decode(await files.read(path)));
  const invalid = (line: number, message: string, hint?: string) =>
    usage(`${path} line ${line}: ${message}`, hint);
  if ("problem" in yaml) throw invalid(yaml.line, yaml.problem);
  const { document, value: plain, lineAt } = yaml;
  if (!isMap(document.contents) || !isObject(plain))
    throw invalid(1, "expected a mapping", "kb pull <kb> prints a valid file");
  for (const { key, value } of document.contents.items) {
    const line = isScalar(key) ? lineAt(key.range?.[0] ?? 0) : 1;
    const name = isScalar(key) ? String(key.value) : "";
    if (!Object.hasOwn(checks, name)) {
      const names = Object.keys(checks).join(", ");
      throw invalid(line, `unknown field ${JSON.stringify(name)}`, `valid fields: ${names}`);
    }
    const check = checks[name as keyof KbFile]; // one of its keys, by the check above
    const problem = check(value === null ? null : plain[name]);
    if (problem !== undefined) throw invalid(line, `${name} ${problem}`);
  }
  const file = plain as unknown as KbFile; // every field was checked
  if (file.knowledge_base === undefined) throw invalid(1, "knowledge_base is missing");
  return file;
}

/** Describes the current state of a knowledge base. */
export function kbFileOf({ settings, tags, fields, built_in_fields }: KbState): KbFile {
  return {
    knowledge_base: settings.name,
    description: settings.description,
    permission: settings.permission,
    ...(settings.indexing_technique !== null && {
      indexing_technique: settings.indexing_technique,
    }),
    // Economy indexing does not use the model that an earlier technique left.
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
