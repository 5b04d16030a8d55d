import { invalidResponse } from "../../../api/response.ts";
import { usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { parseYaml } from "../../../lib/formats/yaml.ts";
import { isObject, valueAt, stringifyJson } from "../../../lib/json.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { Segmentation } from "../../../splitting/pieces.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import type { Context } from "../../task/command-spec.ts";
import { readInput } from "../../task/files.ts";
import { automaticRule, readProcessRule } from "../../../splitting/rule.ts";
import { withReranker } from "../eval/index.ts";
import type { SearchVariant } from "../eval/index.ts";
import { searchAxes, variantOf } from "./axes.ts";

/** Settings to try. */
export interface Arm extends SearchVariant {
  /** The chunking rule of its temporary knowledge base; undefined for the documents as they are. */
  readonly rule: ProcessRule | undefined;
}

/** An arm as written: values, or lists of them, of settings and parts of a chunking rule. */
type ArmEntry = Readonly<Record<string, unknown>>;

const MAX_ARMS = 24;

/** The parts of a chunking rule that an arm can vary, with the least number; those of child chunks have `child_`. */
const ruleParts = { max_tokens: 50, chunk_overlap: 0, separator: "a text" } as const;

const partNames = Object.keys(ruleParts).flatMap((name) => [name, `child_${name}`]);

const entryNames = [...Object.keys(searchAxes), ...partNames];

/** Reads a file of arms, a list in YAML. Throws usage with the line of the problem. */
export async function readArms(path: string, host: Host): Promise<readonly ArmEntry[]> {
  const yaml = await parseYaml(new TextDecoder().decode(await readInput(path, host)));
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

/** The knowledge base as it is, which arms change. */
export interface Today {
  readonly kb: KnowledgeBase;
  readonly settings: Readonly<Record<string, unknown>>;
  /** Its last chunking rule. */
  readonly rule: unknown;
}

/** The settings of today as an arm. */
export const todayArm = ({ settings }: Pick<Today, "settings">): Arm => ({
  label: "today",
  settings,
  topK: Number(settings["top_k"]),
  rule: undefined,
});

/** Arms without repeats and today's settings. Throws usage for an invalid value, for none, and for too many. */
export async function armsOf(
  entries: readonly ArmEntry[],
  today: Today,
  rerankModel: string | undefined,
  context: Context,
): Promise<Arm[]> {
  const seen = new Set([identity(todayArm(today))]);
  const arms: Arm[] = [];
  for (const entry of entries.flatMap(singleValues)) {
    const reranks = String(entry["reranking_enable"]) === "true";
    const settings = reranks
      ? await withReranker(today.settings, rerankModel, context)
      : today.settings;
    const variant = variantOf(entry, settings, today.kb);
    const rule = ruleOf(entry, today.rule);
    const scales = rule !== undefined && entry["top_k"] === undefined;
    const arm = { ...(scales ? sameLength(variant, rule, today) : variant), rule };
    if (seen.has(identity(arm))) continue;
    seen.add(identity(arm));
    const words = rulePartsOf(entry).map(([name, value]) => `${name}=${stringifyJson(value)}`);
    arms.push({ ...arm, label: [...words, variant.label].filter(Boolean).join(" ") });
  }
  if (arms.length > MAX_ARMS)
    throw usage(`${arms.length} arms; the limit is ${MAX_ARMS}`, "use fewer values in --arms");
  if (arms.length > 0) return arms;
  throw usage(
    "nothing to tune: no arm differs from the current settings",
    "write arms with --arms, such as other sizes of chunks: `- { max_tokens: [256, 512] }`",
  );
}

/** All combinations of the values of an entry, each as an entry of its own. */
const singleValues = (entry: ArmEntry): ArmEntry[] =>
  Object.entries(entry).reduce<ArmEntry[]>(
    (all, [name, values]) =>
      all.flatMap((each) => [values].flat().map((value: unknown) => ({ ...each, [name]: value }))),
    [{}],
  );

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
  readProcessRule(rule, (part) => invalidResponse(`process_rule${part} is missing`));

const rulePartsOf = (entry: ArmEntry): [name: string, value: unknown][] =>
  Object.entries(entry).filter(([name]) => partNames.includes(name));

/**
 * The rule of an entry: that of today with other parts; undefined for the documents as they are. Children make it
 * hierarchical, and no overlap is longer than a quarter of a chunk.
 */
function ruleOf(entry: ArmEntry, now: unknown): ProcessRule | undefined {
  const parts = rulePartsOf(entry);
  if (parts.length === 0) return undefined;
  const { mode, rules } = spelledOut(now);
  const isParent = mode === "hierarchical" || parts.some(([name]) => name.startsWith("child_"));
  const changed = (segmentation: Segmentation, prefix: string): Segmentation => {
    const values: Record<string, unknown> = { ...segmentation };
    for (const [part, least] of Object.entries(ruleParts)) {
      const [name, value] = parts.find(([each]) => each === prefix + part) ?? [];
      if (name === undefined) continue;
      const isWhole = Number.isInteger(value) && Number(value) >= Number(least);
      const isText = typeof value === "string" && value !== "";
      if (least === "a text" ? !isText : !isWhole || Number(value) > 4000)
        throw usage(
          `--arms: ${name} is ${stringifyJson(value)}, not ${least === "a text" ? least : `a whole number from ${least} to 4000`}`,
        );
      values[part] = value;
    }
    const { max_tokens, chunk_overlap, separator } = values as Segmentation & typeof values;
    const most = Math.floor(max_tokens / 4);
    return { separator, max_tokens, chunk_overlap: Math.min(chunk_overlap, most) };
  };
  const children = rules.subchunk_segmentation ?? automaticRule.rules.segmentation;
  return {
    mode: isParent ? "hierarchical" : "custom",
    rules: {
      ...rules,
      segmentation: changed(rules.segmentation, ""),
      subchunk_segmentation: isParent ? changed(children, "child_") : null,
      parent_mode: isParent ? (rules.parent_mode ?? "paragraph") : null,
    },
  };
}
