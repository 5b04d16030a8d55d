import { CliError, startRefused } from "../../errors.ts";
import { lookupOf } from "../resolve/lookup.ts";
import { rowValues } from "./row-values.ts";
import { resolvedInput } from "../resolve/resolve-input.ts";
import type { CheckedCommand } from "./row-values.ts";
import type { Session } from "./session.ts";

/** Yields what a command's row or task gives. */
export const commandValues = (checked: CheckedCommand): AsyncGenerator<unknown> =>
  checked.command.task ? taskValues(checked) : rowValues(checked);

async function* taskValues({ command, input, session }: CheckedCommand): AsyncGenerator<unknown> {
  if (!command.task) return;
  const ids = await resolvedInput(command, input, lookupOf(session));
  const { run } = await command.task.load();
  // Values were checked against the task's own parameters.
  const result = run(ids as never, session.context);
  if (result instanceof Promise) await result;
  else yield* result;
}

/**
 * Corrects the side effect of an error after a write: a result that cannot be printed comes after
 * it, and so may a request that had no effect.
 */
export function withSideEffect(error: unknown, session: Session): unknown {
  if (!(error instanceof CliError)) return error;
  const { code, sideEffect, isResult } = error.info;
  // A run that fails to start was accepted before.
  const withoutEffect = code === startRefused ? 1 : 0;
  // The verdict on a single write states its own side effect.
  const judged = isResult && code === "remote-failed";
  const wrote = !judged && sideEffect === "none" && session.writes() > withoutEffect;
  return code === "output" || wrote ? error.with({ sideEffect: "applied" }) : error;
}
