import { problemIn } from "../../../api/response.ts";
import { usage } from "../../../errors.ts";
import { isFileName } from "../../../lib/text.ts";
import type { Files } from "../../../host/host.ts";
import { isObject, own } from "../../../lib/json.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import type { RequiredFields } from "../../../operations/operation.ts";
import { retrievalShape } from "../../../operations/shared.ts";
import { readKb } from "../documents/index.ts";
import type { FieldState, KbProperties } from "../documents/index.ts";
import { commandLine } from "../../../lib/command-line.ts";
import type { Context } from "../../task/command-spec.ts";

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
  /** How documents are split; that of existing ones changes with --rewrite. */
  readonly process_rule?: Readonly<Record<string, unknown>>;
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

/** The fields of a file; a `?` follows those that it may omit. */
const fileFields = {
  knowledge_base: "name",
  "description?": "text",
  "permission?": "=only_me|all_team_members|partial_members",
  "indexing_technique?": "=high_quality|economy",
  "embedding_model?": "name",
  "retrieval_model?": {},
  "process_rule?": { mode: "=automatic|custom|hierarchical" },
  "tags?": ["text"],
  "metadata?": { "*": "=string|number|time" },
  "built_in_fields?": "flag",
  "documents?": {
    directory: "text",
    "include?": ["text"],
    "exclude?": ["text"],
    "prefix?": "text",
    "prune?": "flag",
    "adopt?": "flag",
    "max_delete?": "scalar",
  },
} as const satisfies RequiredFields;

const namesOf = (fields: object): string[] =>
  Object.keys(fields).map((name) => name.replace("?", ""));
const fileNames = namesOf(fileFields);
const documentNames = namesOf(fileFields["documents?"]);
const searchNames = Object.keys(retrievalShape.fields).filter(
  (name) => name !== "metadata_filtering_conditions",
);

/** The problem of one field of a file; null is only a value of search settings. */
function fieldProblem(name: string, value: unknown): string | undefined {
  if (!fileNames.includes(name))
    return `unknown field ${JSON.stringify(name)}; valid fields: ${fileNames.join(", ")}`;
  if (value === null) return `${name} is null`;
  const known = { documents: documentNames, retrieval_model: searchNames }[name];
  if (known && isObject(value)) {
    const unknown = Object.keys(value).find((each) => !known.includes(each));
    if (unknown !== undefined) return `${name} has an unknown field ${unknown}`;
    const empty = Object.keys(value).find((each) => value[each] === null);
    if (empty !== undefined && name === "documents") return `${name}.${empty} is null`;
    const { max_delete } = value;
    if (max_delete !== undefined && !/^\d+(\.\d+)?%?$/.test(String(max_delete)))
      return `${name}.max_delete is not a number or a percentage`;
  }
  const fields = Object.entries(fileFields).filter(([each]) => each.replace("?", "") === name);
  return problemIn(Object.fromEntries(fields), { [name]: value }, "");
}

/** Reads and checks a file. Throws usage with the line of the problem. */
export async function readKbFile(path: string, files: Files): Promise<KbFile> {
  const { isMap, isScalar } = await import("yaml");
  if ((await files.stat(path)) === null) {
    throw usage(
      `file ${path} not found`,
      isFileName(path)
        ? `write one with ${commandLine("kb pull", ["KB"], { "output-file": path })}`
        : `write one, if that is a knowledge base, with ${commandLine("kb pull", [path], { "output-file": "FILE" })}`,
    );
  }
  const yaml = await parseYaml(new TextDecoder().decode(await files.read(path)));
  const invalid = (line: number, message: string, hint?: string) =>
    usage(`${path} line ${line}: ${message}`, hint);
  if ("problem" in yaml) throw invalid(yaml.line, yaml.problem);
  const { document, value: plain, lineAt } = yaml;
  if (!isMap(document.contents) || !isObject(plain))
    throw invalid(1, "expected a mapping", "kb pull <kb> prints a valid file");
  for (const { key } of document.contents.items) {
    const line = isScalar(key) ? lineAt(key.range?.[0] ?? 0) : 1;
    const name = isScalar(key) ? String(key.value) : "";
    const problem = fieldProblem(name, own(plain, name));
    if (problem !== undefined) throw invalid(line, problem);
  }
  const file = plain as unknown as KbFile; // every field was checked
  if (file.knowledge_base === undefined) throw invalid(1, "knowledge_base is missing");
  return file;
}

/** A file as YAML. */
export async function kbFileText(file: Omit<KbFile, "process_rule"> & { process_rule?: unknown }) {
  return (await import("yaml")).stringify(file, { lineWidth: 0 });
}

/** Describes the current state of a knowledge base. */
export function kbFileOf({ settings, tags, fields, built_in_fields }: KbProperties): KbFile {
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
        Object.entries(settings.retrieval_model).filter(([key]) => searchNames.includes(key)),
      ),
    }),
    tags,
    metadata: Object.fromEntries(fields.map(({ name, type }) => [name, type])),
    built_in_fields,
  };
}

/** Prints a knowledge base as the YAML that plan and apply read. */
export async function* run(
  input: { readonly dataset_id: string },
  context: Context,
): AsyncGenerator<string> {
  yield await kbFileText(kbFileOf(await readKb(input.dataset_id, context)));
}
