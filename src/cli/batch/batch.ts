import {
  isAlreadyDeleted,
  isAlreadyExists,
  idOf,
  indexingVerdict,
} from "../execute/row-outcome.ts";
import { sendRow } from "../execute/row-values.ts";
import type { Values } from "../../api/request.ts";
import { withBatchFile } from "../../commands/batch/index.ts";
import type {
  BatchFile,
  BatchRow,
  RowAttempt,
  Sending,
  BatchJournal,
} from "../../commands/batch/index.ts";
import type { RowEnd, Context, RowWork, Task } from "../../commands/task/command-spec.ts";
import { ApiError, CliError, isFatal, signalKinds, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { isUuid } from "../../lib/text.ts";
import { deleteKnowledgeBase } from "../../operations/knowledge.ts";
import { list, onTerminal, retryOf } from "../../operations/operation.ts";
import type { AnyOperation, Returns } from "../../operations/operation.ts";
import { confirmationText, successText, dryDeletionText } from "../execute/command-texts.ts";
import { execute } from "../execute/execute.ts";
import type { SentRow } from "../execute/row-values.ts";
import type { Session } from "../execute/session.ts";
import { commandOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { extraBody } from "../parse/input.ts";
import type { ParsedLine } from "../parse/parser.ts";
import { asksForBackup, takesEach } from "../parse/shared-flags.ts";
import { lookupOf, names } from "../resolve/resolve-input.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { ended, rowSources, sendRows, failedRows } from "./each-line.ts";
import type { NamedOutcome, RowOutcome, RowSteps } from "./each-line.ts";
import { mapArriving } from "../../api/concurrent-map.ts";
import { columnsOf } from "./row-input.ts";

const outcomes = (routine: readonly RowEnd[]): Returns<never> =>
  onTerminal(
    { form: "results", outcome: "status", name: "name", reason: "error", routine },
    list<NamedOutcome>("", "name:name status row error id:id"),
  );

/** The commands as `--each` changes them: columns may fill positionals, and outcomes are printed. */
export const overRows = (commands: readonly Command[]): readonly Command[] =>
  commands.map((command) =>
    takesEach(command)
      ? {
          ...command,
          positionals: command.positionals.map((word) => ({ ...word, optional: true })),
          // Deleted objects are listed.
          returns: outcomes(command.effect === "destroys" ? [] : ["ok", "skipped"]),
        }
      : command,
  );

/** Carries out a command line with `--each`: the command itself has no values, the rows have them. */
export async function executeBatch(
  { command: { row, task, ...rest }, typed, globals }: Extract<ParsedLine, { kind: "run" }>,
  host: Host,
  log: RequestLog,
): Promise<void> {
  const { each } = globals;
  if (each === undefined) return;
  if (asksForBackup(globals))
    throw usage(
      "--backup is for one knowledge base, and rows can name several",
      "back them up first: kb backup <dir> <kb...>",
    );
  const command: Command = { ...rest, positionals: [], params: {} };
  await execute({ kind: "run", command, typed: {}, globals }, host, log, (session) =>
    withBatchFile(each, session.context, async function* (file) {
      if (task) yield* eachTaskRow({ task, typed }, file, session);
      else if (row) yield* eachRow({ row, typed }, file, session);
    }),
  );
}

async function* eachRow(
  { row, typed }: { readonly row: AnyOperation; readonly typed: RowSteps<Values>["typed"] },
  file: BatchFile,
  session: Session,
): AsyncGenerator<NamedOutcome> {
  const { globals } = session.options;
  const command = commandOf(row);
  const { body, bodySet, user, ifExists, ifNotExists } = globals;
  const extra = await extraBody(globals, rowSources(file.path, session).line);
  const context = rowContext(session.context, globals.yes === true);
  const run: SentRow = { row, command, extra, session: { ...session, context } };
  const steps: RowSteps<Values> = {
    command,
    typed,
    extra,
    done: successText(command, {}),
    identity: [row.command, { typed, body, bodySet, user, ifExists, ifNotExists }],
    concurrency: row.ordered && { max: 1 },
    prepare: (resolved) => Promise.resolve(resolved),
    confirm: (open) => confirmDeletes(command, open, session),
    isRepeatable: (input) => isRepeatable(row, input),
    attempt: (input, sending) => attempt(run, input, sending),
    async interrupted(input, number) {
      const error = "sent by an interrupted run; the change may have been applied";
      return ended(number, "unknown", targetId(command, input), error);
    },
  };
  yield* sendRows(steps, file, session);
}

/** Names of objects to delete that are kept for the prompt; it shows a few, and counts the others. */
const MAX_NAMES = 100;

/** Prompts before the objects of rows are deleted, by their names in the file. */
async function confirmDeletes(
  command: Command,
  open: AsyncIterable<BatchRow<Values>>,
  { context }: Session,
): Promise<void> {
  if (command.effect !== "destroys") return;
  const names = new Map(command.positionals.map(({ name }) => [name, [] as string[]]));
  const different = new Set<string>();
  let rows = 0;
  for await (const { input, entered = {} } of open) {
    if (input === undefined) continue;
    rows++;
    for (const [name, texts] of names) {
      for (const text of [entered[name] ?? []].flat() as string[]) {
        if (text !== (texts[0] ?? text)) different.add(name);
        if (texts.length < MAX_NAMES) texts.push(text);
        else texts.length++;
      }
    }
  }
  const last = command.positionals.at(-1)?.name;
  const typed = Object.fromEntries(
    [...names].map(([name, texts]) => {
      const isOne = name !== last && texts.length > 0 && !different.has(name);
      return [name, isOne ? texts[0] : texts];
    }),
  );
  if (context.options.dryRun) return context.notice(dryDeletionText(command, typed));
  // As a single one with documents wants its name.
  const type = command.row?.id === deleteKnowledgeBase.id ? String(rows) : undefined;
  await context.confirm(confirmationText(command, typed), { type });
}

/** May the row be sent again if its side effect is unknown? */
function isRepeatable(row: AnyOperation, input: Values): boolean {
  const retry = retryOf(row);
  return retry === "idempotent" || (retry === "upsert" && input["duplicate"] !== false);
}

async function attempt(
  run: SentRow,
  input: Values,
  { number, again }: Sending,
): Promise<RowAttempt<RowOutcome>> {
  const { row, command, session } = run;
  const { globals } = session.options;
  const target = targetId(command, input);
  try {
    const response = await sendRow(run, input);
    const values: unknown[] = Array.isArray(response) ? response : [response];
    const id = idOf(row.returns, values[0]) ?? target;
    const verdict = indexingVerdict(row, values);
    return verdict ? ended(number, "failed", id, verdict.message) : ended(number, "ok", id);
  } catch (thrown) {
    // After an interrupt, any error of the request is a consequence of it.
    const { host, abortError } = session.context;
    const error = host.signal.aborted && !isInterrupt(thrown) ? abortError() : thrown;
    // Not errors of a row: internal errors, and read-only mode.
    if (!(error instanceof CliError) || error.info.code === "read-only") throw error;
    if (isAlreadyDeleted(error, globals)) return ended(number, "skipped", target);
    // The interrupted run had succeeded.
    const isAlreadyDone =
      error instanceof ApiError && error.response.status === row.alreadyDoneStatus;
    if (again && isAlreadyDone) return ended(number, "ok", target);
    const noun = row.creates;
    if (globals.ifNotExists && noun !== undefined && isAlreadyExists(error)) {
      const name = `name:${String(input["name"])}`;
      const { resolveName } = await names();
      const { id } = await resolveName(noun, name, input, lookupOf(session));
      return ended(number, "skipped", id);
    }
    const end = error.info.sideEffect === "unknown" ? "unknown" : "failed";
    const failed = ended(number, end, target, error.message);
    return isFatal(error) ? { ...failed, stop: error } : failed;
  }
}

const isInterrupt = (error: unknown): boolean =>
  error instanceof CliError && (Object.values(signalKinds) as string[]).includes(error.kind);

/** ID of the object that a row changes: the last one of its positionals. */
const targetId = ({ positionals }: Command, input: Values): string | null =>
  positionals
    .flatMap(({ name }) => input[name])
    .findLast((value): value is string => typeof value === "string" && isUuid(value)) ?? null;

/** A row that passed the check, or what failed it and does not stop the others. */
type Prepared = { readonly checked: unknown } | { readonly error: CliError };

/** Carries out a task once per row of a file. */
async function* eachTaskRow(
  { task, typed }: { readonly task: Task; readonly typed: RowSteps<Values>["typed"] },
  file: BatchFile,
  session: Session,
): AsyncGenerator<NamedOutcome> {
  if (!task.each) return;
  const { context } = session;
  const command = commandOf(task);
  const columns = new Set(columnsOf(command).keys());
  const isOther = (name: string) => task.each?.columns === "any" && !columns.has(name);
  const { rowWork } = await task.load();
  const inner = rowContext(context, session.options.globals.yes === true);
  const work = rowWork?.(inner) as RowWork<Values, unknown>;
  const steps: RowSteps<Prepared> = {
    command,
    typed,
    isOther,
    done: successText(command, {}),
    identity: [task.command, { typed }],
    prepare: (ready, journal) => prepareRows({ file, ready, isOther, journal, work }, context),
    attempt: (prepared, { number }) => attemptTask(prepared, number, { work, context }),
  };
  yield* sendRows(steps, file, session);
}

/** Rows are sent several at a time: nothing is asked between them, and they have one progress line. */
const rowContext = (context: Context, yes: boolean): Context => ({
  ...context,
  progress: () => {},
  confirm: (question) =>
    yes
      ? Promise.resolve()
      : Promise.reject(
          usage(`confirmation required: ${question.replace(/\.$/, "")}`, "pass --yes to continue", {
            code: "confirmation-needed",
          }),
        ),
});

interface RowsToPrepare {
  readonly file: BatchFile;
  readonly ready: () => AsyncIterable<BatchRow<Values>>;
  readonly isOther: (column: string) => boolean;
  readonly journal: BatchJournal;
  readonly work: RowWork<Values, unknown>;
}

/** Checks all rows that are not done, once all names are found. Throws one error for all that are invalid. */
async function prepareRows(
  { file, ready, isOther, journal, work }: RowsToPrepare,
  context: Context,
): Promise<() => AsyncGenerator<BatchRow<Prepared>>> {
  for await (const _ of ready()) if (context.host.signal.aborted) throw context.abortError();
  const prepare = async ({ row, input }: BatchRow<Values>): Promise<Prepared | undefined> => {
    const isDone = journal.states.get(row.number)?.kind === "done";
    if (input === undefined || isDone) return undefined;
    const cells = Object.entries(row.values).filter(([name]) => isOther(name));
    try {
      const checked = await work.check(input, Object.fromEntries(cells));
      return checked === undefined ? undefined : { checked };
    } catch (error) {
      if (!(error instanceof CliError) || endsBatch(error)) throw error;
      return { error };
    }
  };
  const invalid = failedRows(file.name);
  const prepared = new Map<number, Prepared>();
  const all = mapArriving(ready(), file.count, context.api.limitConcurrency(), async (each) => ({
    row: each.row,
    input: await prepare(each),
  }));
  let done = 0;
  for await (const { row, input } of all) {
    context.progress({ done: ++done, total: file.count, unit: "rows checked" });
    if (input === undefined) continue;
    if ("error" in input && ["usage", "not-found"].includes(input.error.kind)) {
      const named = Object.entries(row.values).filter(([name]) => !isOther(name));
      invalid.add({ ...row, values: Object.fromEntries(named) }, input.error);
    } else if (!work.checksAgain || "error" in input) prepared.set(row.number, input);
  }
  invalid.check();
  return async function* read() {
    for await (const each of ready()) {
      const held = prepared.get(each.row.number);
      yield { ...each, input: held ?? (work.checksAgain ? await prepare(each) : undefined) };
    }
  };
}

/** Would every further row fail the same way? What a task refuses concerns one object. */
const endsBatch = (error: CliError): boolean =>
  isFatal(error) && (error.kind !== "unsupported" || error instanceof ApiError);

/** Sends one row. Throws what ends the batch: internal errors, read-only mode, the end of a dry run. */
async function attemptTask(
  prepared: Prepared,
  number: number,
  { work, context }: { readonly work: RowWork<Values, unknown>; readonly context: Context },
): Promise<RowAttempt<RowOutcome>> {
  if ("error" in prepared) {
    const { message } = prepared.error;
    if (context.options.dryRun) await context.notice(`row ${number}: ${message}`);
    return ended(number, "failed", null, message);
  }
  try {
    return ended(number, "ok", await work.send(prepared.checked));
  } catch (thrown) {
    const error = context.host.signal.aborted ? context.abortError() : thrown;
    if (!(error instanceof CliError) || error.info.code === "read-only") throw error;
    // A change that was made, or may have been, cannot be made again from the same row.
    const end = (error.info.sideEffect ?? "none") === "none" ? "failed" : "unknown";
    const failed = ended(number, end, null, error.message);
    return endsBatch(error) ? { ...failed, stop: error } : failed;
  }
}
