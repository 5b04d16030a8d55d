import { requireField } from "../../../api/response.ts";
import { refused, usage } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { groupDigits } from "../../../lib/numbers.ts";
import { valueAt, stringifyJson } from "../../../lib/json.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import type { ProcessRule } from "../../../splitting/rule.ts";
import type { Context } from "../../task/command-spec.ts";
import { newestRule } from "../../kb/documents/index.ts";
import { documentOf, readQuestions, searchGroups } from "../eval/index.ts";
import { changedSettings } from "../../kb/knowledge/index.ts";
import { activeModels } from "../../models/index.ts";
import { armsOf, readArms, todayArm, usualArms } from "./arms.ts";
import type { Arm } from "./arms.ts";
import type { tuneParams } from "./command.ts";
import { partsWithin, roundsOf, searchesOf, splitQuestions } from "./halving.ts";

export type TuneInput = Input<typeof tuneParams>;

/** What a tuning does, and what it costs at most. */
export type TunePlan = Awaited<ReturnType<typeof planTuning>>;

/** Reads what is tuned, and plans it within the budget. Throws usage if that is too small, or nothing is to be tried. */
export async function planTuning(input: TuneInput, context: Context) {
  const { dataset_id } = input;
  const read = await readQuestions(input, context);
  const answered = read.questions.filter(({ hasAnswer }) => hasAnswer);
  const kb = await context.api.call(getKnowledgeBase, { dataset_id });
  const { arms: all, settings } = await readAllArms(input, kb, context);
  const { arms, bases, embedded, left } = withinEmbedded(kb, all, input.max_embedded);
  const today = todayArm({ settings });
  // One search serves all arms that differ in the length of the list alone.
  const byRule = groupBy([today, ...arms], ({ rule }) => stringifyJson(rule));
  const lists = [...byRule.values()].flatMap((same) =>
    searchGroups(same, formOf(same[0]?.rule, kb)),
  );
  const split = answered.map((each) => ({ ...each, document: documentOf(each) }));
  const whole = splitQuestions(split, input.seed ?? 1);
  if (whole.mixed.length > 0)
    await context.notice(
      `${read.file}: a document is in one part, but questions about these name both: ${firstNames(whole.mixed)}`,
    );
  if (whole.tune.length === 0 || whole.proof.length === 0)
    throw usage(
      `${read.file}: ${counted(answered.length, "question")} with an answer, none of them to ${whole.tune.length === 0 ? "tune with" : "prove with"}`,
      "a document and its questions are in one part: add questions about others, or give them the field part: tune or proof",
    );
  const { max_requests = Infinity } = input;
  const size = { arms: arms.length, lists: lists.length };
  const parts = partsWithin(whole, max_requests, size);
  if (!parts) {
    const proof = Math.ceil(whole.proof.length / whole.tune.length);
    const least = searchesOf(size.lists, roundsOf(size.arms, 1), proof);
    throw usage(`--max-requests ${max_requests} is too few: the least is ${least}`);
  }
  const dropped = answered.length - parts.tune.length - parts.proof.length;
  const searches = searchesOf(
    size.lists,
    roundsOf(size.arms, parts.tune.length),
    parts.proof.length,
  );
  const unanswered = read.questions.length - answered.length;
  return {
    kb,
    file: read.file,
    /** Those that have an answer, by their key. */
    questions: new Map(answered.map((question) => [question.key, question])),
    parts,
    /** The settings of today first. */
    arms: [today, ...arms] as const,
    lists,
    cost: { searches, bases, embedded },
    /** What a budget leaves out. */
    left: [
      ...left,
      ...(dropped > 0 ? [`${counted(dropped, "question")} beyond --max-requests`] : []),
      ...(unanswered > 0 ? [`${counted(unanswered, "question")} without an answer`] : []),
    ],
  };
}

/** The arms of the line, and the settings of today. */
async function readAllArms(input: TuneInput, kb: KnowledgeBase, context: Context) {
  const stored = requireField(kb.retrieval_model_dict, "retrieval_model_dict");
  const settings = changedSettings({ ...stored }, {});
  const entries = input.arms
    ? await readArms(input.arms, context.host)
    : usualArms(kb, await hasReranker(input, kb, context));
  const today = { kb, settings, rule: await newestRule(kb.id, context) };
  return { settings, arms: await armsOf(entries, today, input.rerank_model, context) };
}

/** Can a search be reranked without a word about the model? */
async function hasReranker(
  { rerank_model }: TuneInput,
  { retrieval_model_dict, indexing_technique }: KnowledgeBase,
  context: Context,
): Promise<boolean> {
  const stored = valueAt(retrieval_model_dict, "reranking_model.reranking_model_name");
  if (stored || rerank_model !== undefined || indexing_technique !== "high_quality") return true;
  return (await activeModels("rerank", context)).length === 1;
}

/** The form of documents that a rule splits; that of the knowledge base without one. */
export const formOf = (
  rule: ProcessRule | undefined,
  { doc_form }: Pick<KnowledgeBase, "doc_form">,
): Pick<KnowledgeBase, "doc_form"> => {
  if (!rule || doc_form === "qa_model") return { doc_form };
  return { doc_form: rule.mode === "hierarchical" ? "hierarchical_model" : "text_model" };
};

/** Arms that embed at most `most` characters together. Throws refused if sizes are unknown, usage without any. */
function withinEmbedded(kb: KnowledgeBase, arms: readonly Arm[], most: number | undefined) {
  const characters = valueAt(kb, "word_count");
  const isKnown = typeof characters === "number";
  if (!isKnown && most !== undefined)
    throw refused(
      "the server does not report how many characters the documents have",
      "omit --max-embedded",
    );
  const kept = new Set<string>();
  let embedded = 0;
  for (const { rule } of arms) {
    const key = stringifyJson(rule);
    if (!rule || kept.has(key)) continue;
    const { max_tokens, chunk_overlap } =
      rule.rules.subchunk_segmentation ?? rule.rules.segmentation;
    const growth = max_tokens / Math.max(1, max_tokens - chunk_overlap);
    const isEmbedded = isKnown && kb.indexing_technique === "high_quality";
    const size = isEmbedded ? Math.ceil(characters * growth) : 0;
    if (embedded + size > (most ?? Infinity)) continue;
    kept.add(key);
    embedded += size;
  }
  const fitting = arms.filter(({ rule }) => !rule || kept.has(stringifyJson(rule)));
  if (fitting.length === 0)
    throw usage(`--max-embedded ${most} is too few for any of the chunking rules`);
  const left = arms.length - fitting.length;
  return {
    arms: fitting,
    bases: kept.size,
    /** Characters; null if their number is unknown. */
    embedded: isKnown ? embedded : null,
    left: left === 0 ? [] : [`${counted(left, "arm")} beyond --max-embedded`],
  };
}

/** What a plan costs: `at most 312 searches, 2 temporary knowledge bases, 120,000 characters to embed`. */
export const costText = ({ cost: { searches, bases, embedded } }: TunePlan): string =>
  [
    `at most ${counted(searches, "search", "searches")}`,
    ...(bases > 0 ? [counted(bases, "temporary knowledge base")] : []),
    ...(bases > 0 && embedded !== 0
      ? [
          embedded === null
            ? "all documents to embed in each"
            : `${groupDigits(embedded)} characters to embed`,
        ]
      : []),
  ].join(", ");
