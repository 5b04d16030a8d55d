import { isAlreadyDeleted, isAlreadyExists } from "../execute/already-done.ts";
import type { Values } from "../../api/request.ts";
import { withBatchFile } from "../../commands/batch/index.ts";
import type { BatchFile, BatchRow, RowAttempt, Sending } from "../../commands/batch/index.ts";
import type { RowEnd } from "../../commands/task/command-spec.ts";
import { ApiError, CliError, isFatal, signalKinds, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { isUuid } from "../../lib/text.ts";
import { deleteKnowledgeBase } from "../../operations/knowledge.ts";
import { list, onTerminal, retryOf } from "../../operations/operation.ts";
import type { AnyOperation, Returns } from "../../operations/operation.ts";
import { confirmationText, dryDeletionText } from "../execute/command-texts.ts";
import { execute } from "../execute/execute.ts";
import { idOf, indexingVerdict, sendRow } from "../execute/row-values.ts";
import type { Session } from "../execute/session.ts";
import { commandOf } from "../parse/command.ts";
import type { Command } from "../parse/command.ts";
import { extraBody } from "../parse/input.ts";
import type { ParsedLine } from "../parse/parser.ts";
import { takesEach } from "../parse/shared-flags.ts";
import { lookupOf } from "../resolve/resolve-input.ts";
import type { RequestLog } from "../trace/request-log.ts";
import { ended, rowSources, sendRows } from "./each-line.ts";
import type { NamedOutcome, RowOutcome, RowSteps } from "./each-line.ts";
import { eachTaskRow, rowContext } from "./task-rows.ts";

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
  if (globals.backup !== undefined)
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

/** Sends the operation of a command once per row of a file. */
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
  const run: RowRun = { row, command, extra, session: { ...session, context } };
  const steps: RowSteps<Values> = {
    command,
    typed,
    extra,
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

/** What all rows share. */
interface RowRun {
  readonly row: AnyOperation;
  readonly command: Command;
  readonly extra: Values | undefined;
  readonly session: Session;
}

/** May the row be sent again if its side effect is unknown? */
function isRepeatable(row: AnyOperation, input: Values): boolean {
  const retry = retryOf(row);
  return retry === "idempotent" || (retry === "upsert" && input["duplicate"] !== false);
}

async function attempt(
  run: RowRun,
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
    const { signal, abortError } = session.context;
    const error = signal.aborted && !isInterrupt(thrown) ? abortError() : thrown;
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
      const { resolveName } = await import("../resolve/resolve-names.ts");
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
