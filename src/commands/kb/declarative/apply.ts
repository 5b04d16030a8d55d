import { verdict } from "../../../errors.ts";
import { counted } from "../../../lib/text.ts";
import { applySettings, createKb, isChange } from "../changes/index.ts";
import type { Change, DocumentFlags } from "../changes/index.ts";
import { completeRule } from "../chunks/index.ts";
import { brokenIndex, newestRule, repairIndex, splitAgain } from "../documents/index.ts";
import { syncDirectory } from "../sync/index.ts";
import { directoryOf, readPlan } from "./read-plan.ts";
import type { FilePlan } from "./read-plan.ts";
import type { Context } from "../../task/command-spec.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { stringifyJson } from "../../../lib/json.ts";

interface PlanInput extends DocumentFlags {
  readonly file: string;
  readonly exit_code?: boolean | undefined;
  readonly rewrite?: boolean | undefined;
}

/** `kb plan`: yields the changes that apply would make; with --exit-code, throws gate if there are any. */
export async function* plan(
  { file: path, exit_code }: PlanInput,
  context: Context,
): AsyncGenerator<Change> {
  const dryRun = { ...context, options: { ...context.options, dryRun: true } };
  const { name, count } = yield* makeChanges({ file: path }, dryRun);
  if (count === 0) return context.summary(`${name} matches ${path}`);
  context.summary(`${counted(count, "change")}; to apply: ${commandLine("kb apply", [path])}`);
  if (!exit_code) return;
  const message = `${name} differs from ${path}: ${counted(count, "change")}`;
  throw verdict("gate", message, { changes: count });
}

/** `kb apply`: makes a knowledge base match a file, and yields each change when it is made. */
export async function* apply(input: PlanInput, context: Context): AsyncGenerator<Change> {
  if (context.options.dryRun) return yield* plan(input, context);
  const { name, count } = yield* makeChanges(input, context);
  const nothing = `${name} matches ${input.file}; nothing to do`;
  context.summary(count === 0 ? nothing : `${counted(count, "change")} made`);
}

async function* makeChanges(
  { file: path, rewrite = false, ...flags }: PlanInput,
  context: Context,
): AsyncGenerator<Change, { readonly name: string; readonly count: number }> {
  const filePlan = await readPlan(path, context);
  const { file, changes } = filePlan;
  const { knowledge_base: name, documents } = file;
  let { id } = filePlan;
  if (!context.options.dryRun) id ??= await createKb(filePlan, context);
  yield* applySettings(id ?? "", filePlan, context, rewrite);
  await checkIndex(filePlan, rewrite, context);
  await applyRule(path, filePlan, rewrite, context);
  if (id === undefined && documents)
    await context.notice(`every file of ${documents.directory} becomes a document`);
  const synced =
    id === undefined ? 0 : yield* syncDocuments(path, file, { ...flags, dataset_id: id }, context);
  return { name, count: changes.length + synced };
}

/** Says that searches fail since an earlier change of the index, or mends that. A search finds it out. */
async function checkIndex(
  { id, current, desired, changes }: FilePlan,
  rewrite: boolean,
  context: Context,
): Promise<void> {
  const indexSettings = /^(indexing_technique|embedding_model)$/;
  if (changes.some(({ what, name }) => what === "setting" && indexSettings.test(name))) return; // checked after them
  const { name, indexing_technique } = current?.settings ?? {};
  if (id === undefined || name === undefined || indexing_technique !== "high_quality") return;
  const problem = await brokenIndex(id, context);
  if (problem === undefined) return;
  if (rewrite && !context.options.dryRun) return repairIndex({ id, name }, true, context);
  const command = commandLine("kb update", [desired.name], { rewrite: true });
  await context.notice(`searches fail: ${problem}; write each document again: ${command}`);
}

/** Splits existing documents by the rule of a file with --rewrite, or says that they are split by another one. */
async function applyRule(
  path: string,
  { id, file: { knowledge_base: name, process_rule } }: FilePlan,
  rewrite: boolean,
  context: Context,
): Promise<void> {
  if (id === undefined || process_rule === undefined) return;
  const complete = (rule: unknown) => stringifyJson(completeRule(`${path}: process_rule`, rule));
  if (complete(process_rule) === complete(await newestRule(id, context))) return;
  const again = commandLine("kb apply", [path], { rewrite: true });
  if (!rewrite || context.options.dryRun)
    return context.notice(
      `documents of ${name} are split by another rule; to index all again: ${again}`,
    );
  const kept = await splitAgain({ id, name, process_rule }, again, context);
  if (kept.length > 0)
    await context.notice(`without a file on the server, kept: ${kept.join(", ")}`);
}

/** Syncs the directory of a file; returns the number of changes. */
async function* syncDocuments(
  path: string,
  { documents, process_rule }: FilePlan["file"],
  target: DocumentFlags & { readonly dataset_id: string },
  context: Context,
): AsyncGenerator<Change, number> {
  if (!documents) return 0;
  const { directory: _, max_delete, ...rest } = documents;
  const input = {
    ...target,
    ...rest,
    directory: directoryOf(documents, path),
    process_rule,
    ...(max_delete !== undefined && { max_delete: String(max_delete) }),
  };
  let count = 0;
  for await (const row of syncDirectory(input, context)) {
    if (!isChange(row)) continue;
    count++;
    yield row;
  }
  return count;
}
