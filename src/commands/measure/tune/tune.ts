import { CliError, reasonOf } from "../../../errors.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted } from "../../../lib/text.ts";
import { getKnowledgeBase, updateKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { lockJournal, prepareOutputs, writeOutput } from "../../task/files.ts";
import { kbFileOf, kbFileText } from "../../kb/declarative/index.ts";
import { countedDocuments, readKb, sendableRule, storedFile } from "../../kb/documents/index.ts";
import { DEFAULT_LEVEL } from "../eval/index.ts";
import type { Arm } from "./arms.ts";
import { findAndProve } from "./halving.ts";
import type { TuneFinding } from "./halving.ts";
import { costText, formOf, planTuning } from "./plan.ts";
import type { TuneInput, TunePlan } from "./plan.ts";
import { planReport, tuningReport } from "./report.ts";
import { removeBases, tunePaths } from "./temporary.ts";
import { searchTrial, TimeOver } from "./trial.ts";
import type { SearchTrial } from "./trial.ts";
import { stringifyJson } from "../../../lib/json.ts";

/**
 * Finds better settings and proves them. Searches are in a journal until the report is printed, so that the
 * same command continues after a kill. Throws partial, and applies nothing, if searches failed or the knowledge
 * base was changed meanwhile.
 */
export async function* run(input: TuneInput, context: Context): AsyncGenerator<Report> {
  await prepareOutputs({ save: input.save }, context.host);
  const plan = await planTuning(input, context);
  const { journal: path } = await tunePaths(input.dataset_id, context);
  if (context.options.dryRun) return yield planReport(plan);
  const busy = "another command is tuning this knowledge base";
  const locked = await lockJournal(path, busy, context.host);
  try {
    yield* tune(input, plan, () => openJournal(path, locked.files), context);
  } finally {
    locked.release();
  }
}

async function* tune(
  input: TuneInput,
  plan: TunePlan,
  openWritten: () => Promise<Journal>,
  context: Context,
): AsyncGenerator<Report> {
  const { dataset_id, save } = input;
  await context.notice(`tuning ${plan.kb.name}: ${costText(plan)}`);
  const key = await keyOf(plan, input, context);
  await context.confirm(`Tune ${plan.kb.name}?`, { declined: "nothing was sent" });
  const journal = await openTuning({ dataset_id, key }, openWritten, context);
  const trial = searchTrial(input, plan, journal, context);
  const found = await search(input, plan, trial, context).catch(async (error: unknown) => {
    const { entries } = await openWritten();
    if (entries.some(({ base }) => base !== undefined)) await context.notice(basesStay);
    throw error;
  });
  const [failure, ...others] = trial.failed();
  const count = counted(others.length + 1, "search", "searches");
  const problems = [
    ...(failure === undefined ? [] : [`${count} failed and do not count: ${failure}`]),
    ...(found.key === key ? [] : ["the knowledge base was changed while it was searched"]),
  ];
  const { finding } = found;
  const winner = finding?.verdict === "better" ? finding.winner : undefined;
  const isSearch = winner !== undefined && winner.rule === undefined;
  const applied = isSearch && input.apply === true && problems.length === 0;
  const retrieval_model = winner?.settings as InputOf<
    typeof updateKnowledgeBase
  >["retrieval_model"];
  if (applied) await context.api.call(updateKnowledgeBase, { dataset_id, retrieval_model });
  const removed = await removeBases(dataset_id, await openWritten(), context).catch(
    (error: unknown) => {
      if (context.host.signal.aborted) throw error;
      problems.push(`${basesStay}: ${reasonOf(error)}`);
    },
  );
  await context.host.files.remove((await tunePaths(dataset_id, context)).bundle);
  yield tuningReport({ plan, input, ...found, trial, applied });
  if (save !== undefined && winner) await saveFile(save, plan.kb, winner, context);
  else if (save !== undefined)
    await context.notice(`${save} is not written: no other settings are proven better`);
  // Searches before a change do not belong to those after it.
  if (found.key !== key && removed !== undefined) await journal.remove();
  if (problems.length > 0)
    throw new CliError("partial", problems.join("; "), {
      isResult: true,
      hint: applied ? undefined : "run the same command again",
    });
  // With more minutes, or to save a rule, the same command continues.
  const isOver = winner === undefined || isSearch || save !== undefined;
  if (finding && isOver) context.afterOutput(() => journal.remove());
}

const basesStay = "temporary knowledge bases stay until the next kb tune of this knowledge base";

/** Chooses and proves, without a finding if the minutes were over; `key` is that of the tuning afterwards. */
async function search(input: TuneInput, plan: TunePlan, trial: SearchTrial, context: Context) {
  const { parts, arms } = plan;
  const [today, ...others] = arms;
  let characters = 0;
  let finding: TuneFinding<Arm> | undefined;
  try {
    await trial.measure([today], parts.tune);
    characters = trial.figuresOf(today, parts.tune, Infinity).characters ?? 0;
    trial.limitContext(characters);
    const { level = DEFAULT_LEVEL } = input;
    finding = await findAndProve({ arms: others, today, parts }, trial, level);
  } catch (error) {
    if (!(error instanceof TimeOver) || context.host.signal.aborted) throw error;
  }
  return { finding, characters, key: await keyOf(plan, input, context) };
}

/** Identifies a tuning: what searches find depends on this, and on nothing that is changed meanwhile. */
async function keyOf(plan: TunePlan, input: TuneInput, context: Context): Promise<string> {
  const { retrieval_model_dict } = await context.api.call(getKnowledgeBase, {
    dataset_id: plan.kb.id,
  });
  const documents: unknown[] = [];
  for await (const document of countedDocuments(plan.kb.id, context))
    documents.push([document.id, storedFile(document), document.display_status]);
  const { measure, relevant_from, document_field } = input;
  const questions = [...plan.questions].map(([key, question]) => [
    key,
    question,
    [...question.grades],
  ]);
  const rules = [measure, relevant_from, document_field, retrieval_model_dict];
  return sha256(stringifyJson([plan.arms, questions, documents, rules]));
}

/** The journal of this tuning. The temporary knowledge bases of another, interrupted one are removed. */
async function openTuning(
  { dataset_id, key: plan }: { readonly dataset_id: string; readonly key: string },
  openWritten: () => Promise<Journal>,
  context: Context,
): Promise<Journal> {
  const earlier = await openWritten();
  const [first] = earlier.entries;
  if (first?.["plan"] === plan) {
    const count = earlier.entries.filter(({ list }) => list !== undefined).length;
    await context.notice(`continuing: ${counted(count, "search", "searches")} are recorded`);
    return earlier;
  }
  if (first) {
    const removed = await removeBases(dataset_id, earlier, context);
    await earlier.remove();
    if (removed > 0)
      await context.notice(
        `removed ${counted(removed, "temporary knowledge base")} of an interrupted tuning`,
      );
  }
  const journal = await openWritten();
  await journal.append([{ plan }]);
  return journal;
}

/** Writes the knowledge base with the settings of an arm as a file for `kb apply`. */
async function saveFile(
  path: string,
  kb: KnowledgeBase,
  { settings, rule }: Arm,
  context: Context,
): Promise<void> {
  const file = kbFileOf(await readKb(kb.id, context));
  // A knowledge base has documents of one form (server §9.1).
  const isNew = formOf(rule, kb).doc_form !== kb.doc_form;
  const tuned = {
    ...file,
    ...(isNew && { knowledge_base: `${[...kb.name].slice(0, 34).join("")} tuned` }),
    retrieval_model: settings,
    ...(rule && { process_rule: sendableRule(rule) }),
  };
  await writeOutput("--save", path, await kbFileText(tuned), context.host);
  const apply = commandLine("kb apply", [path], rule && !isNew ? { rewrite: true } : {});
  const next = isNew ? "name the directory of its documents in it (documents:), then" : "to apply:";
  await context.notice(`wrote ${path}; ${next} ${apply}`);
}
