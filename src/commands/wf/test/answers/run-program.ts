import { dirname } from "node:path";
import { reasonOf } from "../../../../errors.ts";
import { isObject } from "../../../../lib/json.ts";
import type { Context } from "../../../task/command-spec.ts";
import { quoted } from "../../expect/index.ts";
import type { SuiteProgram } from "../file/index.ts";
import { onlyJsonIn } from "./compare-answer.ts";
import type { Judgement } from "./judge.ts";

/** Bytes that a program may write. */
const MAX_OUTPUT = 1024 * 1024;

/**
 * Runs a program in the directory of its suite, with `given` as JSON in its stdin and without keys in its
 * environment. It decides by a verdict in JSON, or by the exit codes 0 and 1.
 */
export async function runProgram(
  { words: [program, ...args], from, timeout }: SuiteProgram,
  given: object,
  { host, signal, abortError }: Context,
): Promise<Judgement> {
  const failed = (why: string) => ({ error: host.secrets.masked(`check ${program} ${why}`) });
  const late = AbortSignal.timeout(timeout * 1000);
  try {
    const child = host.spawn(program, args, {
      collect: MAX_OUTPUT,
      cwd: dirname(from.path),
      input: JSON.stringify(given),
      signal: AbortSignal.any([signal, late]),
    });
    const [exit, output, errors = ""] = await Promise.all([child.exit, child.output, child.errors]);
    if (signal.aborted) throw abortError();
    if (late.aborted) return failed(`took longer than ${timeout} s`);
    const last = errors.trim().split("\n").at(-1) ?? "";
    if (exit > 1) return failed(`ended with exit code ${exit}${last && `: ${quoted(last)}`}`);
    const said = decisionIn(output, exit === 0);
    if (!said)
      return failed(`must print {"pass": true or false, "score": 0 to 1}: ${quoted(output)}`);
    const reason = said.reason ?? last;
    const { passed, score, figure } = said;
    const actual = host.secrets.masked(`${figure}${reason && `: ${quoted(reason)}`}`);
    return { passed, actual, score };
  } catch (error) {
    if (signal.aborted) throw abortError();
    return failed(`could not be run: ${reasonOf(error)}`);
  }
}

/** A score that passes without a verdict, as that of a judge. */
const PASSING_SCORE = 0.5;

/** A verdict in JSON, or the exit code with a text as the reason; undefined for a wrong verdict. */
function decisionIn(output: string, succeeded: boolean) {
  const said = onlyJsonIn(output);
  const plain = {
    passed: succeeded,
    score: undefined,
    figure: `exit code ${Number(!succeeded)}`,
    reason: output.trim() || undefined,
  };
  if (!isObject(said)) return plain;
  const { pass, score, reason } = said;
  const points = typeof score === "number" && score >= 0 && score <= 1 ? score : undefined;
  const decided = pass ?? (points === undefined ? undefined : points >= PASSING_SCORE);
  if (typeof decided !== "boolean" || points !== score) return succeeded ? undefined : plain;
  const passed = decided && succeeded;
  const figure = points === undefined ? `verdict ${passed ? "pass" : "fail"}` : `score ${points}`;
  return { passed, score: points, figure, reason: typeof reason === "string" ? reason : undefined };
}
