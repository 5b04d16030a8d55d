import { dirname, isAbsolute, join } from "node:path";
import { CliError } from "../../../errors.ts";
import { shellQuote } from "../../../lib/shell-quote.ts";
import { applySettings, createKb, isChange } from "../changes/index.ts";
import type { Change, DocumentFlags } from "../changes/index.ts";
import { syncDirectory } from "../sync/index.ts";
import { readPlan } from "./read-plan.ts";
import type { FilePlan } from "./read-plan.ts";
import type { Context } from "../../command-spec.ts";

interface PlanInput extends DocumentFlags {
  readonly file: string;
  readonly exit_code?: boolean | undefined;
}

/** `kb plan`: yields the changes that apply would make; with --exit-code, throws gate if there are any. */
export const plan = {
  async *run({ file: path, exit_code, ...flags }: PlanInput, context: Context) {
    const dryRun = { ...context, options: { ...context.options, dryRun: true } };
    const { file, id, changes } = await readPlan(path, context);
    yield* changes;
    const documents = id === undefined ? 0 : yield* applyDocuments(path, file, id, flags, dryRun);
    if (id === undefined && file.documents)
      await context.notice(`every file of ${file.documents.directory} becomes a document`);
    const count = changes.length + documents;
    if (count === 0) return context.notice(`${file.knowledge_base} matches ${path}`);
    await context.notice(`${counted(count)}; to apply: kb apply ${shellQuote(path)}`);
    if (!exit_code) return;
    const message = `${file.knowledge_base} differs from ${path}: ${counted(count)}`;
    throw new CliError("gate", message, { isResult: true, details: { changes: count } });
  },
};

/** `kb apply`: makes a knowledge base match a file, and yields each change when it is made. */
export const apply = {
  async *run(input: PlanInput, context: Context): AsyncGenerator<Change> {
    if (context.options.dryRun) return yield* plan.run(input, context);
    const { file: path, ...flags } = input;
    const filePlan = await readPlan(path, context);
    const { file, changes } = filePlan;
    const dataset_id = filePlan.id ?? (await createKb(filePlan, context));
    yield* applySettings(dataset_id, filePlan, context);
    const count = changes.length + (yield* applyDocuments(path, file, dataset_id, flags, context));
    await context.notice(
      count === 0
        ? `${file.knowledge_base} matches ${path}; nothing to do`
        : `${counted(count)} made`,
    );
  },
};

const counted = (count: number): string => (count === 1 ? "1 change" : `${count} changes`);

/** Syncs the directory of a file, which is relative to the file; returns the number of changes. */
async function* applyDocuments(
  path: string,
  { documents }: FilePlan["file"],
  dataset_id: string,
  flags: DocumentFlags,
  context: Context,
): AsyncGenerator<Change, number> {
  if (!documents) return 0;
  const { directory, max_delete, ...rest } = documents;
  const input = {
    ...flags,
    ...rest,
    dataset_id,
    directory: isAbsolute(directory) ? directory : join(dirname(path), directory),
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
