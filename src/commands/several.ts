import { ApiError, CliError, signalKinds } from "../errors.ts";
import type { FailureKind } from "../errors.ts";
import { list, withNamePath } from "../operations/operation.ts";

/** What became of one of several things. */
export interface ItemOutcome {
  /** As it was typed. */
  readonly name: string;
  readonly status: "ok" | "failed" | "unknown" | "skipped";
  readonly id: string | null;
  readonly error: string | null;
}

/** What a command over several things prints. */
export const itemOutcomes = withNamePath(
  "id",
  list<ItemOutcome>("", "name", "status", "id", "error"),
);

const always: ReadonlySet<FailureKind> = new Set([
  "unsupported",
  ...Object.values(signalKinds),
  "deadline",
]);

/** Would every further thing meet the same? A wrong key, a used up quota, no server. */
export function isFatal(error: CliError): boolean {
  const status = error instanceof ApiError ? error.response.status : undefined;
  const { sideEffect, retryable } = error.info;
  if (always.has(error.kind)) return true;
  if (error.kind === "auth") return status !== 403; // one knowledge base may be closed to the key
  if (error.kind === "limited") return status === 403 || !retryable;
  return error.kind === "network" && sideEffect === "none";
}

/** One of several things: what `act` gives is its id, undefined where it was gone already. */
export interface Item {
  readonly name: string;
  readonly act: () => Promise<string | undefined>;
}

/**
 * Does the same to each thing, one after the other, and gives what became of each. Ends early where
 * every further one would meet the same. Throws at the end: the error that ended it or, where some
 * failed, `partial`; where all failed alike, an error of their kind.
 */
export async function* forEachItem(
  noun: string,
  things: readonly Item[],
): AsyncGenerator<ItemOutcome> {
  const failures: { readonly outcome: ItemOutcome; readonly error: CliError }[] = [];
  let done = 0;
  for (const [index, { name, act }] of things.entries()) {
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
      const unsent = things.length - index - 1;
      if (isFatal(error)) throw ended(error, unsent, done);
    }
  }
  const [first] = failures;
  if (!first) return;
  const { outcome, error } = first;
  const alike =
    failures.length === things.length && failures.every((each) => each.error.kind === error.kind);
  throw new CliError(
    alike ? error.kind : "partial",
    `${failures.length} of ${things.length} failed: ${noun} ${JSON.stringify(outcome.name)}: ${error.message}`,
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

/** Those before were done, those after were not sent. */
function ended(error: CliError, unsent: number, done: number): CliError {
  const message = unsent > 0 ? `${error.message}; ${unsent} not sent` : error.message;
  return new CliError(error.kind, message, {
    ...error.info,
    isResult: true,
    sideEffect: sideEffectOf([error], done),
  });
}

const sideEffectOf = (errors: readonly CliError[], done: number) => {
  if (errors.some(({ info }) => info.sideEffect === "unknown")) return "unknown";
  return done > 0 ? "applied" : "none";
};
