import { join } from "node:path";
import { CliError } from "../../../errors.ts";
import { openJournal } from "../../../lib/journal.ts";
import type { Journal } from "../../../lib/journal.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { counted } from "../../../lib/text.ts";
import { updateKnowledgeBase } from "../../../operations/knowledge.ts";
import type { KnowledgeBase } from "../../../operations/knowledge.ts";
import type { InputOf } from "../../../operations/operation.ts";
import type { Report } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import { lockJournal, prepareOutputs, writeOutput } from "../../task/files.ts";
import type { LockedJournal } from "../../task/files.ts";
import { kbFileOf, kbFileText } from "../declarative/index.ts";
import { countedDocuments, readKb, sendableRule, storedFile } from "../documents/index.ts";
import { DEFAULT_LEVEL, resolveExpected } from "../eval/index.ts";
import type { Arm } from "./arms.ts";
import { findAndProve } from "./halving.ts";
import type { TuneFinding } from "./halving.ts";
import { costText, formOf, planTuning } from "./plan.ts";
import type { TuneInput, TunePlan } from "./plan.ts";
import { planReport, tuningReport } from "./report.ts";
import { bundleOf, removeBases, temporaryBase } from "./temporary.ts";
import { ALL, searchTrial, TimeOver } from "./trial.ts";
import type { SearchedBase, SearchTrial } from "./trial.ts";

/**
 * Finds better settings and proves them. Searches are in a journal until the report is printed, so that the
 * same command continues after a kill. Throws partial if searches failed.
 */
export async function* run(input: TuneInput, context: Context): AsyncGenerator<Report> {
  await prepareOutputs({ save: input.save }, context.host);
  const plan = await planTuning(input, context);
  const path = await journalPath(input.dataset_id, context);
  if (context.options.dryRun) return yield planReport(plan);
  const busy = "another command is tuning this knowledge base";
  const locked = await lockJournal(path, busy, context.host);
  try {
    yield* tune(input, plan, { path, locked }, context);
  } finally {
    locked.release();
  }
}

async function* tune(
  input: TuneInput,
  plan: TunePlan,
  { path, locked }: { readonly path: string; readonly locked: LockedJournal },
  context: Context,
): AsyncGenerator<Report> {
  const { dataset_id, save } = input;
  const cost = costText(plan);
  await context.notice(`tuning ${plan.kb.name}: ${cost}`);
  await context.confirm(`Tune ${plan.kb.name}?`, { declined: "nothing was sent" });
  const journal = await openTuning(path, plan, { input, files: locked.files }, context);
  const trial = trialOf(input, plan, journal, context);
  const found = await search(input, plan, trial, context).catch(async (error: unknown) => {
    const stay = "temporary knowledge bases stay until the next kb tune of this knowledge base";
    if (journal.entries.some(({ base }) => base !== undefined)) await context.notice(stay);
    throw error;
  });
  await removeBases(journal, context);
  await context.host.files.remove(await bundleOf(dataset_id, context));
  const { finding } = found;
  const winner = finding?.verdict === "better" ? finding.winner : undefined;
  const applied = winner !== undefined && input.apply === true && winner.rule === undefined;
  if (applied) await changeSearch(dataset_id, winner, context);
  yield tuningReport({ plan, input, ...found, trial, applied });
  // With more minutes, the same command continues.
  if (finding) context.afterOutput(() => journal.remove());
  if (winner && save !== undefined) await saveFile(save, plan.kb, winner, context);
  const [failure] = trial.failed();
  if (failure === undefined) return;
  const count = counted(trial.failed().length, "search", "searches");
  throw new CliError("partial", `${count} failed and do not count: ${failure}`, { isResult: true });
}

/** Chooses and proves; without a finding if the minutes were over. */
async function search(
  input: TuneInput,
  { arms, parts }: TunePlan,
  trial: SearchTrial,
  context: Context,
): Promise<{ readonly finding: TuneFinding<Arm> | undefined; readonly characters: number }> {
  const [today, ...others] = arms;
  let characters = 0;
  try {
    await trial.measure([today], parts.tune);
    characters = trial.figuresOf(today, parts.tune, Infinity).characters ?? 0;
    trial.limitContext(characters);
    const { level = DEFAULT_LEVEL } = input;
    const finding = await findAndProve({ arms: others, today, parts }, trial, level);
    return { finding, characters };
  } catch (error) {
    if (!(error instanceof TimeOver) || context.signal.aborted) throw error;
    return { finding: undefined, characters };
  }
}

/**
 * The journal of this tuning. One of another tuning of the same knowledge base was interrupted: its temporary
 * knowledge bases are removed.
 */
async function openTuning(
  path: string,
  plan: TunePlan,
  { input, files }: { readonly input: TuneInput; readonly files: LockedJournal["files"] },
  context: Context,
): Promise<Journal> {
  const documents: unknown[] = [];
  for await (const document of countedDocuments(plan.kb.id, context))
    documents.push([document.id, storedFile(document), document.display_status]);
  const { measure, relevant_from, document_field } = input;
  const questions = [...plan.questions].map(([key, question]) => [
    key,
    question,
    [...question.grades],
  ]);
  const rules = [measure, relevant_from, document_field];
  const hash = sha256(JSON.stringify([plan.arms, questions, documents, rules]));
  const earlier = growing(await openJournal(path, files));
  const [first] = earlier.entries;
  if (first?.["plan"] === hash) {
    const count = earlier.entries.filter(({ list }) => list !== undefined).length;
    await context.notice(`continuing: ${counted(count, "search", "searches")} are recorded`);
    return earlier;
  }
  if (first) {
    const removed = await removeBases(earlier, context);
    await earlier.remove();
    if (removed > 0)
      await context.notice(
        `removed ${counted(removed, "temporary knowledge base")} of an interrupted tuning`,
      );
  }
  const journal = growing(await openJournal(path, files));
  await journal.append([{ plan: hash }]);
  return journal;
}

/** A journal whose entries include what this command appends. */
function growing(journal: Journal): Journal {
  const entries = [...journal.entries];
  return {
    ...journal,
    entries,
    append(added) {
      for (const entry of added) entries.push(entry as Readonly<Record<string, unknown>>);
      return journal.append(added);
    },
  };
}

/** Where interrupted tunings of a knowledge base are found, whatever they tried. */
async function journalPath(dataset_id: string, { api, host }: Context): Promise<string> {
  const key = sha256([await api.baseUrl(), dataset_id].join("\n")).slice(0, 32);
  return join(host.directories.state, `tune-${key}.jsonl`);
}

function trialOf(
  input: TuneInput,
  { arms, lists, questions, file, parts }: TunePlan,
  journal: Journal,
  context: Context,
): SearchTrial {
  const { dataset_id, measure = "recall", max_minutes, max_requests } = input;
  const place = { dataset_id, file, allowMissing: input.allow_missing === true };
  const bases = new Map<string, Promise<SearchedBase>>();
  const named = { ...place, field: input.document_field };
  let last = Promise.resolve("");
  let resolved: ReturnType<typeof resolveExpected> | undefined;
  const open = async ({ rule }: Arm): Promise<SearchedBase> => {
    const expected = await (resolved ??= resolveExpected([...questions.values()], named, context));
    if (!rule) return { dataset_id, expected };
    // A copy has other IDs, and the same names.
    const copied = (written: string) => ({
      written: expected(written).name ?? written,
      id: undefined,
    });
    // One after the other: they are filled from one directory.
    last = last.then(() => temporaryBase(dataset_id, rule, journal, context));
    return { dataset_id: await last, expected: copied };
  };
  const baseOf = (arm: Arm) => {
    const key = JSON.stringify(arm.rule ?? null);
    const base = bases.get(key) ?? open(arm);
    bases.set(key, base);
    return base;
  };
  const setup = {
    arms,
    lists,
    questions,
    tune: parts.tune,
    baseOf,
    figure: measure === "map" || measure === "mrr" ? measure : `${measure}@${ALL}`,
    threshold: input.relevant_from ?? 1,
    until: max_minutes === undefined ? Infinity : context.host.elapsed() + max_minutes * 60_000,
    waitsForLimit: input.wait_for_limit === true,
    retries: max_requests === undefined ? undefined : 0,
  };
  return searchTrial(setup, journal, context);
}

type SearchSettings = InputOf<typeof updateKnowledgeBase>["retrieval_model"];

const changeSearch = (dataset_id: string, { settings }: Arm, { api }: Context) =>
  api.call(updateKnowledgeBase, { dataset_id, retrieval_model: settings as SearchSettings });

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
