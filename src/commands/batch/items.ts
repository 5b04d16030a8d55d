import { AdaptiveLimit } from "../../api/adaptive-limit.ts";
import { CliError, isFatal } from "../../errors.ts";
import type { Context, ItemOutcome } from "../task/command-spec.ts";
import { BatchRun } from "./batch-run.ts";
import type { BatchRow, CheckedRows, RowAttempt } from "./batch-run.ts";

/** One of several items; `act` returns its ID, or undefined if there was nothing to do. */
interface Item {
  readonly name: string;
  readonly act: () => Promise<string | undefined>;
}

/**
 * Acts on each item in order and yields the outcomes: a batch without a file and a journal. Ends early on a
 * fatal error. Throws at the end: the fatal error, an error of the common kind if all items failed, or else
 * `partial`.
 */
export async function* forEachItem(
  noun: string,
  items: readonly Item[],
  context: Context,
): AsyncGenerator<ItemOutcome> {
  const failures: { readonly outcome: ItemOutcome; readonly error: CliError }[] = [];
  const attempt = async ({ name, act }: Item): Promise<RowAttempt<ItemOutcome | undefined>> => {
    try {
      const id = (await act()) ?? null;
      const end = id === null ? "skipped" : "ok";
      return { end, result: { name, status: end, id, error: null } };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const end = error.info.sideEffect === "unknown" ? "unknown" : "failed";
      const outcome = { name, status: end, id: null, error: error.message } as const;
      failures.push({ outcome, error });
      return { end, result: outcome, stop: isFatal(error) ? error : undefined };
    }
  };
  const total = items.length;
  const sender = { attempt, unsent: () => undefined };
  const checked: CheckedRows<Item> = {
    count: total,
    rows: () => rowsOf(items),
    limiter: new AdaptiveLimit({ start: 1, max: 1 }),
    report(done, failed, begun) {
      if (begun) context.progress({ done, total, unit: "items", failed, current: begun.name });
    },
  };
  const run = new BatchRun(sender, checked, context);
  for await (const { result } of run.results()) if (result) yield result;
  const { counts, reason } = run;
  const errors = failures.map((each) => each.error);
  const isUnknown = [...errors, reason].some((each) => each?.info.sideEffect === "unknown");
  const changed = counts.ok > 0 && !context.options.dryRun ? "applied" : "none";
  const sideEffect = isUnknown ? "unknown" : changed;
  if (reason) {
    const unsent = counts["not sent"];
    const left = unsent > 0 ? `; ${unsent} not sent` : "";
    throw reason.with({ isResult: true, sideEffect }, `${reason.message}${left}`);
  }
  const [first] = failures;
  if (!first) return;
  const { outcome, error } = first;
  const details = { failed: failures.map((each) => each.outcome) };
  const alike = failures.length === total && errors.every(({ kind }) => kind === error.kind);
  throw new CliError(
    alike ? error.kind : "partial",
    `${failures.length} of ${total} failed: ${noun} ${JSON.stringify(outcome.name)}: ${error.message}`,
    { isResult: true, sideEffect, details, hint: error.info.hint },
  );
}

async function* rowsOf(items: readonly Item[]): AsyncGenerator<BatchRow<Item>> {
  for (const [index, input] of items.entries()) {
    const number = index + 1;
    yield { row: { number, line: number, values: {}, raw: input.name }, input };
  }
}
