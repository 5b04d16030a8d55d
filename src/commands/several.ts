import { CliError, isFatal } from "../errors.ts";
import type { ProgressStep } from "../output/report-model.ts";
import { list, withNamePath, onTerminal } from "../operations/operation.ts";

/** Outcome of one of several items. */
export interface ItemOutcome {
  /** As given. */
  readonly name: string;
  readonly status: "ok" | "failed" | "unknown" | "skipped";
  readonly id: string | null;
  readonly error: string | null;
}

/** Output of a command over several items. */
export const itemOutcomes = onTerminal(
  { form: "results", outcome: "status", name: "name", reason: "error", routine: ["ok"] },
  withNamePath("id", list<ItemOutcome>("", "name status error id:id")),
);

/** One of several items; `act` returns its ID, or undefined if there was nothing to do. */
export interface Item {
  readonly name: string;
  readonly act: () => Promise<string | undefined>;
}

/**
 * Acts on each item in order and yields the outcomes. Ends early on a fatal error. Throws at the end:
 * the fatal error, an error of the common kind if all items failed, or else `partial`.
 */
export async function* forEachItem(
  noun: string,
  items: readonly Item[],
  progress: (step: ProgressStep) => void,
): AsyncGenerator<ItemOutcome> {
  const failures: { readonly outcome: ItemOutcome; readonly error: CliError }[] = [];
  let done = 0;
  for (const [index, { name, act }] of items.entries()) {
    const failed = failures.length;
    progress({ done: index, total: items.length, unit: "items", failed, current: name });
    try {
      const id = await act();
      done += id === undefined ? 0 : 1;
      yield { name, status: id === undefined ? "skipped" : "ok", id: id ?? null, error: null };
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      const status = error.info.sideEffect === "unknown" ? "unknown" : "failed";
      const outcome = { name, status, id: null, error: error.message } as const;
      failures.push({ outcome, error });
      yield outcome;
      const unsent = items.length - index - 1;
      if (!isFatal(error)) continue;
      throw error.with(
        { isResult: true, sideEffect: sideEffectOf([error], done) },
        unsent > 0 ? `${error.message}; ${unsent} not sent` : error.message,
      );
    }
  }
  const [first] = failures;
  if (!first) return;
  const { outcome, error } = first;
  const sameKind = failures.every((each) => each.error.kind === error.kind);
  const alike = failures.length === items.length && sameKind;
  throw new CliError(
    alike ? error.kind : "partial",
    `${failures.length} of ${items.length} failed: ${noun} ${JSON.stringify(outcome.name)}: ${error.message}`,
    {
      isResult: true,
      sideEffect: sideEffectOf(
        failures.map((each) => each.error),
        done,
      ),
      details: { failed: failures.map((each) => each.outcome) },
      hint: error.info.hint,
    },
  );
}

const sideEffectOf = (errors: readonly CliError[], done: number) => {
  if (errors.some(({ info }) => info.sideEffect === "unknown")) return "unknown";
  return done > 0 ? "applied" : "none";
};
