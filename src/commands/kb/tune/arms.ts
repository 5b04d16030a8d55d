import { usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import { isObject, own, valueAt } from "../../../lib/json.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import { automaticRule, readProcessRule } from "../../../splitting/rule.ts";
import { matrixSettings, parseMatrix, variantsOf } from "../eval/index.ts";
import type { SearchVariant } from "../eval/index.ts";

/** Settings to try. */
export interface Arm extends SearchVariant {
  /** The chunking rule of its temporary knowledge base; undefined for the documents as they are. */
  readonly rule: ProcessRule | undefined;
}

/** An arm as written: values, or lists of them, of settings and parts of a chunking rule. */
type ArmEntry = Readonly<Record<string, unknown>>;

const MAX_ARMS = 24;

/** The parts of a chunking rule that an arm can vary, with the place of each in the rule. */
const ruleParts: Readonly<Record<string, readonly [where: string, name: string]>> = {
  max_tokens: ["segmentation", "max_tokens"],
  chunk_overlap: ["segmentation", "chunk_overlap"],
  separator: ["segmentation", "separator"],
  child_max_tokens: ["subchunk_segmentation", "max_tokens"],
  child_chunk_overlap: ["subchunk_segmentation", "chunk_overlap"],
  child_separator: ["subchunk_segmentation", "separator"],
};

const entryNames = [...Object.keys(matrixSettings), ...Object.keys(ruleParts), "process_rule"];

/** Reads a file of arms, a list in YAML. Throws usage with the line of the problem. */
export async function readArms(path: string, { files }: Host): Promise<readonly ArmEntry[]> {
  const yaml = await parseYaml(new TextDecoder().decode(await files.read(path)));
  const hint = "an arm looks like `- { search_method: hybrid_search, vector_weight: [0.3, 0.7] }`";
  if ("problem" in yaml) throw usage(`${path} line ${yaml.line}: ${yaml.problem}`, hint);
  const { value } = yaml;
  if (!Array.isArray(value) || value.length === 0)
    throw usage(`${path}: expected a list of arms`, hint);
  return value.map((entry: unknown, index) => {
    const place = `${path}: arm ${index + 1}`;
    if (!isObject(entry)) throw usage(`${place} is not a mapping`, hint);
    const unknown = Object.keys(entry).find((name) => !entryNames.includes(name));
    if (unknown !== undefined)
      throw usage(
        `${place}: unknown setting ${unknown}`,
        `valid settings: ${entryNames.join(", ")}`,
      );
    const isEmpty = (each: unknown) => [each].flat().length === 0 || each === null;
    const empty = Object.keys(entry).find((name) => isEmpty(entry[name]));
    if (empty !== undefined) throw usage(`${place}: ${empty} has no value`, hint);
    return entry;
  });
}

/** What is usually tried with a knowledge base: the methods that its index allows, with and without a reranker. */
export function usualArms(
  { indexing_technique, retrieval_model_dict }: KnowledgeBase,
  hasReranker: boolean,
): readonly ArmEntry[] {
  if (indexing_technique !== "high_quality") return [];
  const reranks = valueAt(retrieval_model_dict, "reranking_enable") === true;
  const plain = reranks ? { reranking_enable: false } : {};
  return [
    { search_method: ["semantic_search", "full_text_search"], ...plain },
    { search_method: "hybrid_search", vector_weight: [0.3, 0.5, 0.7], ...plain },
    ...(hasReranker
      ? [{ search_method: ["semantic_search", "hybrid_search"], reranking_enable: true }]
      : []),
  ];
}

/** The axes of the search settings of an entry. Throws usage for an invalid value. */
export const axesOf = (entry: ArmEntry) =>
  parseMatrix(
    Object.keys(entry)
      .filter((name) => own(matrixSettings, name) !== undefined)
      .map((name) => `${name}=${[entry[name]].flat().map(String).join(",")}`),
    [],
  );

/** The knowledge base as it is, which arms change. */
export interface Today {
  readonly kb: KnowledgeBase;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Its last chunking rule. */
  readonly rule: unknown;
}

/** The settings of today as an arm. */
export const todayArm = ({ settings }: Today): Arm => ({
  label: "today",
  settings,
  topK: Number(settings["top_k"]),
  rule: undefined,
});

/**
 * The arms of entries without those that are today's settings or twice the same. `settingsFor` gives the search
 * settings that an entry changes. Throws usage for an invalid value, for none, and for too many.
 */
export function armsOf(
  entries: readonly ArmEntry[],
  today: Today,
  settingsFor: (entry: ArmEntry) => Readonly<Record<string, unknown>>,
): Arm[] {
  const { embedding_model_provider, embedding_model } = today.kb;
  const model = {
    embedding_provider_name: embedding_model_provider,
    embedding_model_name: embedding_model,
  };
  const seen = new Set([identity(todayArm(today))]);
  const arms: Arm[] = [];
  for (const entry of entries) {
    const variants = variantsOf(settingsFor(entry), axesOf(entry), model);
    for (const { words, rule } of rulesOf(entry, today.rule)) {
      for (const variant of variants) {
        const scaled =
          rule && entry["top_k"] === undefined ? sameLength(variant, rule, today) : variant;
        const label = [...words, variant.label].filter(Boolean).join(" ");
        const arm = { ...scaled, label, rule };
        if (seen.has(identity(arm))) continue;
        seen.add(identity(arm));
        arms.push(arm);
      }
    }
  }
  if (arms.length > MAX_ARMS)
    throw usage(`${arms.length} arms; the limit is ${MAX_ARMS}`, "use fewer values in --arms");
  if (arms.length > 0) return arms;
  throw usage(
    "nothing to tune: no arm differs from the settings of today",
    "write arms with --arms, such as other sizes of chunks: `- { max_tokens: [256, 512] }`",
  );
}

const identity = ({ settings, rule }: Arm): string =>
  JSON.stringify([Object.entries(settings).toSorted(([a], [b]) => (a < b ? -1 : 1)), rule]);

/** As many chunks as are about as long together as those of today: smaller chunks would only find less. */
function sameLength(variant: SearchVariant, rule: ProcessRule, today: Today): SearchVariant {
  const now = sizeOf(spelledOut(today.rule));
  const top_k = Math.min(100, Math.max(1, Math.ceil((variant.topK * now) / sizeOf(rule))));
  return { ...variant, settings: { ...variant.settings, top_k }, topK: top_k };
}

const sizeOf = ({ rules }: ProcessRule): number => rules.segmentation.max_tokens;

/** A rule as the server stores it, the automatic one with its values. */
const spelledOut = (rule: unknown): ProcessRule =>
  readProcessRule(rule, (part) =>
    usage(
      `process_rule:${part} is missing`,
      "a rule has a mode, and rules with pre_processing_rules and segmentation",
    ),
  );

/** All combinations of the parts of a rule that an entry varies; one without a rule if there are none. */
function rulesOf(
  entry: ArmEntry,
  now: unknown,
): { readonly words: readonly string[]; readonly rule: ProcessRule | undefined }[] {
  const given = entry["process_rule"];
  const names = Object.keys(entry).filter((name) => own(ruleParts, name) !== undefined);
  if (given === undefined && names.length === 0) return [{ words: [], rule: undefined }];
  let combined: { words: string[]; values: Record<string, unknown> }[] = [
    { words: [], values: {} },
  ];
  for (const name of names) {
    combined = combined.flatMap(({ words, values }) =>
      [entry[name]].flat().map((value: unknown) => ({
        words: [
          ...words,
          `${name}=${typeof value === "string" ? JSON.stringify(value) : String(value)}`,
        ],
        values: { ...values, [name]: value },
      })),
    );
  }
  const start = spelledOut(given ?? now);
  const name = given === undefined ? [] : [`process_rule ${String(valueAt(given, "mode"))}`];
  return combined.map(({ words, values }) => ({
    words: [...name, ...words],
    rule: names.length === 0 ? start : changedRule(start, values),
  }));
}

/** A rule with other parts: children make it hierarchical, and no overlap is longer than a quarter of a chunk. */
function changedRule(rule: ProcessRule, values: Readonly<Record<string, unknown>>): ProcessRule {
  const rules = { ...rule.rules } as Record<string, unknown>;
  const children = Object.keys(values).some((name) => name.startsWith("child_"));
  const base = rule.rules.subchunk_segmentation ?? automaticRule.rules.segmentation;
  if (children) rules["subchunk_segmentation"] = base;
  for (const [name, value] of Object.entries(values)) {
    const [where = "", part = ""] = ruleParts[name] ?? [];
    const isNumber = part !== "separator";
    if (isNumber !== (typeof value === "number"))
      throw usage(
        `--arms: ${name} is ${JSON.stringify(value)}, not a ${isNumber ? "number" : "text"}`,
      );
    if (
      part === "max_tokens" &&
      !(Number.isInteger(value) && Number(value) >= 50 && Number(value) <= 4000)
    )
      throw usage(`--arms: ${name} is ${String(value)}, not a whole number from 50 to 4000`);
    rules[where] = { ...(rules[where] as object), [part]: value };
  }
  for (const where of ["segmentation", "subchunk_segmentation"] as const) {
    const segmentation = rules[where];
    if (!isObject(segmentation)) continue;
    const most = Math.floor(Number(segmentation["max_tokens"]) / 4);
    const overlap = Math.min(Number(segmentation["chunk_overlap"]), most);
    rules[where] = { ...segmentation, chunk_overlap: overlap };
  }
  const isParent = children || rule.mode === "hierarchical";
  const mode = isParent ? "hierarchical" : "custom";
  const parent_mode = isParent ? (rule.rules.parent_mode ?? "paragraph") : null;
  return { mode, rules: { ...rules, parent_mode } as ProcessRule["rules"] };
}
