import { dirname } from "node:path";
import { CliError, reasonOf } from "../../../../errors.ts";
import { isObject, stringifyJson, tryParseJson } from "../../../../lib/json.ts";
import { counted, firstNames } from "../../../../lib/text.ts";
import { isSuccess } from "../../../../runs/outcome.ts";
import type { CitedChunk } from "../../../../runs/trace.ts";
import type { Context } from "../../../task/command-spec.ts";
import {
  checkExpectation,
  namedEnds,
  quoted,
  runFields,
  runSucceeded,
} from "../../../wf/expect/index.ts";
import { needsText } from "../../suite-file/index.ts";
import type { Suite, SuiteProgram, SuiteSupport, SuiteTurn } from "../../suite-file/index.ts";
import { stopsSuite } from "../../ask/index.ts";
import type { SuiteAnswer } from "../../ask/index.ts";
import { atLeastOf, checkContext, supportedSentences } from "./check-chunks.ts";
import { openSchema } from "./check-schema.ts";
import { onlyJsonIn, openComparison } from "./compare-answer.ts";
import type { AnswerComparison } from "./compare-answer.ts";
import { openJudges } from "./judge.ts";
import type { Judge, JudgedAnswer, Judgement } from "./judge.ts";
import type { AnswerCheck } from "./stored-run.ts";

/** What is known beside an answer. */
export interface AnswerBackground {
  /** Chunks that the search of the test found. */
  readonly found: readonly CitedChunk[];
  /** The name of an expected document, as the server calls it. */
  readonly nameOf: (written: string) => string;
  /** All turns of the test so far. */
  readonly turns: readonly object[];
}

/** Gives the checks of an answer, why it cannot be judged, and the tokens of judges. */
export type CheckAnswer = Awaited<ReturnType<typeof openChecker>>;

type Pause = () => Promise<void>;

/** Opens judges and prepares comparisons. Throws `usage` for a turn that no answer can be checked against. */
export async function openChecker(suite: Suite, context: Context) {
  const comparisons = new Map<SuiteTurn, AnswerComparison>();
  const schemas = new Map<SuiteTurn, Awaited<ReturnType<typeof openSchema>>>();
  const compiled = new Map<string, Awaited<ReturnType<typeof openSchema>>>();
  const all = suite.tests.flatMap((test) => test.turns);
  for (const turn of all) {
    const { answer, compare } = turn;
    if (turn.schema) {
      const { of, file, schema } = turn.schema;
      // Most tests have that of the defaults, and to compile one takes a tenth of a second.
      const key = stringifyJson([of, file, schema]);
      const opened = compiled.get(key) ?? (await openSchema(turn.schema, context.host.files));
      compiled.set(key, opened);
      schemas.set(turn, opened);
    }
    if (answer.length > 0 && compare) comparisons.set(turn, openComparison({ ...turn, compare }));
  }
  const judge = await openJudges(all, suite.user, context);
  /** Lets Ctrl-C and the end of --timeout arrive, and throws their error. */
  const pause = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    if (context.host.signal.aborted) throw context.abortError();
  };
  const checked = async (
    answer: SuiteAnswer,
    turn: SuiteTurn,
    { found, nameOf, turns }: AnswerBackground,
  ) => {
    const error = unjudged(answer, turn);
    if (error !== null) return { checks: [], error, judgeTokens: null };
    const checks = await checkedConditions(answer, turn, pause);
    const comparison = comparisons.get(turn);
    if (comparison) checks.push(await checkedText(answer, comparison, pause));
    const cited = answer.trace.sources ?? [];
    const chunks = cited.length > 0 ? cited : found;
    checks.push(...turn.context.map((each) => checkContext(each, chunks, nameOf)));
    const schema = schemas.get(turn);
    if (schema) checks.push({ kind: "schema", ...schema(answer.trace) });
    const { outputs } = answer.trace;
    const asked = textChecks(turn, { outputs, chunks, turns, judge, context });
    let [judgeTokens, problem]: [number | null, string | null] = [null, null];
    for (const each of asked) {
      await pause();
      const said = await judgementOf(each, answer);
      judgeTokens = sumOf(judgeTokens, said.tokens);
      if (typeof said.error === "string") {
        problem ??= said.error;
        continue;
      }
      const { passed, actual, score } = said;
      const { kind, check } = each;
      checks.push({ kind, check, passed, actual, score });
    }
    return { checks, error: problem, judgeTokens };
  };
  return (...asked: Parameters<typeof checked>) =>
    checked(...asked).catch((failure: unknown) => ({
      checks: [],
      error: context.host.secrets.masked(unjudgedBy(failure)),
      judgeTokens: null,
    }));
}

/** Why an answer could not be judged; throws what ends every test, such as an interrupt. */
export function unjudgedBy(failure: unknown): string {
  if (failure instanceof CliError && stopsSuite(failure)) throw failure;
  return failure instanceof CliError
    ? failure.message
    : `the answer could not be judged: ${reasonOf(failure)}`;
}

/** Why an answer cannot be judged; null if it can. */
function unjudged({ trace }: SuiteAnswer, turn: SuiteTurn): string | null {
  if (trace.status === "paused" && !turn.expectations.flatMap(namedEnds).includes("paused"))
    return "the run is waiting for human input";
  const { missing, actual } = runFields.text.read(trace);
  return needsText(turn) && missing === "unknown" ? `the answer is not known: ${actual}` : null;
}

/** The conditions of a turn; that the run succeeded is one of them unless another names its end. */
async function checkedConditions(
  { trace }: SuiteAnswer,
  { expectations }: SuiteTurn,
  pause: Pause,
): Promise<AnswerCheck[]> {
  const names = expectations.flatMap(namedEnds);
  const all = names.length > 0 ? expectations : [runSucceeded, ...expectations];
  const checks: AnswerCheck[] = [];
  for (const each of all) {
    await pause();
    const { name, result } = checkExpectation(each, trace);
    checks.push({ kind: "expect", check: name, passed: result.passed, actual: result.actual });
  }
  return checks;
}

async function checkedText(
  { trace }: SuiteAnswer,
  { check, compare }: AnswerComparison,
  pause: Pause,
): Promise<AnswerCheck> {
  const { value, actual } = runFields.text.read(trace);
  if (typeof value !== "string") return { kind: "answer", check, passed: false, actual };
  return { kind: "answer", check, ...(await compare(value, pause)) };
}

/** What judges and programs are told about an answer. */
interface Asked {
  readonly outputs: unknown;
  readonly chunks: readonly CitedChunk[];
  readonly turns: readonly object[];
  readonly judge: Judge;
  readonly context: Context;
}

/** A check of the text of an answer of a run that has succeeded. */
interface TextCheck extends Pick<AnswerCheck, "kind" | "check"> {
  readonly decide: (answer: string) => Promise<Judgement>;
}

/** Nothing is asked about a run that failed, or has no text. */
function judgementOf(
  { decide }: TextCheck,
  { trace }: SuiteAnswer,
): Promise<Judgement> | Judgement {
  const text = runFields.text.read(trace);
  if (typeof text.value !== "string") return { passed: false, actual: text.actual };
  if (isSuccess(trace.status)) return decide(text.value);
  return { passed: false, actual: runFields.status.read(trace).actual };
}

/** What judges and programs decide about. */
function textChecks(
  { supported, judge: by, program, ...turn }: SuiteTurn,
  { outputs = null, chunks, turns, judge, context }: Asked,
): TextCheck[] {
  const inputs = { ...turn.inputs, ...turn.assigned };
  const question = questionOf(turn.query, inputs);
  const given = { question, expected: turn.answer, chunks };
  const checks: TextCheck[] = [];
  if (supported)
    checks.push({
      kind: "supported",
      check: `${atLeastOf(supported.atLeast)} the sentences are in the chunks`,
      decide: (answer) => supportOf(supported, { ...given, answer }, judge),
    });
  if (by) {
    const { app, criteria, atLeast } = by;
    checks.push({
      kind: "judge",
      check: `judge ${app} gives at least ${atLeast}${criteria === undefined ? "" : `: ${quoted(criteria)}`}`,
      decide: (answer) => judge(by, { ...given, answer, criteria }),
    });
  }
  if (program)
    checks.push({
      kind: "check",
      check: `program ${quoted(program.words.join(" "))} passes the answer`,
      decide: (answer) =>
        runProgram(program, { ...given, inputs, answer, outputs, turns }, context),
    });
  return checks;
}

/** What a judge of sentences decides, unless its suite says otherwise. */
const supportCriteria =
  "The context states what each sentence of the answer states, or it follows from the context.";

/** How many sentences are quoted. */
const MAX_SENTENCES = 3;

async function supportOf(
  { judge: by, atLeast, share }: SuiteSupport,
  given: Omit<JudgedAnswer, "criteria"> & Pick<Asked, "chunks">,
  judge: Judge,
): Promise<Judgement> {
  const { answer, chunks } = given;
  const contents = chunks.map(({ content }) => content ?? "");
  const { all, open } = supportedSentences(answer, contents, { share });
  const asked = by && open.length > 0 && chunks.length > 0 ? by : undefined;
  const criteria = asked?.criteria ?? supportCriteria;
  const judged = { ...given, answer: open.join("\n"), criteria, expected: [] };
  const said = asked && (await judge(asked, judged));
  if (typeof said?.error === "string") return said;
  const left = said?.passed ? [] : open;
  const score = all.length === 0 ? 1 : (all.length - left.length) / all.length;
  const actual = [
    `${all.length - left.length} of ${counted(all.length, "sentence")}`,
    ...(chunks.length === 0 ? ["there are no chunks"] : []),
    ...(said && asked ? [`judge ${asked.app}: ${said.actual}`] : []),
    ...(left.length > 0 ? [`not supported: ${firstNames(left.map(quoted), MAX_SENTENCES)}`] : []),
  ].join("; ");
  return { tokens: said?.tokens ?? null, passed: score >= atLeast, score, actual };
}

/** The sum of numbers that may be unknown; null if all are. */
export const sumOf = (sum: number | null, more: number | null = null): number | null =>
  more === null ? sum : (sum ?? 0) + more;

/** The question: the message to a chat, the only input of a workflow, or all of them as JSON. */
function questionOf(query: string | undefined, inputs: SuiteTurn["inputs"]): string {
  const [only, ...more] = Object.values(inputs);
  return query ?? (typeof only === "string" && more.length === 0 ? only : stringifyJson(inputs));
}

/** Bytes that a program may write. */
const MAX_OUTPUT = 1024 * 1024;

/**
 * Runs a program in the directory of its suite, with `given` as JSON in its stdin and without keys in its
 * environment. It decides by a verdict in JSON, or by the exit codes 0 and 1.
 */
async function runProgram(
  { words: [program, ...args], from, timeout }: SuiteProgram,
  given: object,
  { host, abortError }: Context,
): Promise<Judgement> {
  const failed = (why: string) => ({ error: host.secrets.masked(`check ${program} ${why}`) });
  const late = AbortSignal.timeout(timeout * 1000);
  try {
    const child = host.spawn(program, args, {
      collect: MAX_OUTPUT,
      cwd: dirname(from.path),
      input: stringifyJson(given),
      signal: AbortSignal.any([host.signal, late]),
    });
    const [exit, output, errors = ""] = await Promise.all([child.exit, child.output, child.errors]);
    if (host.signal.aborted) throw abortError();
    if (late.aborted) return failed(`took longer than ${timeout} s`);
    const last = errors.trim().split("\n").at(-1) ?? "";
    const crashed = `ended with exit code ${exit}${last && `: ${quoted(last)}`}`;
    if (exit > 1) return failed(crashed);
    const said = decisionIn(output, exit === 0);
    if (!said)
      return failed(
        `must print {"pass": true or false, "score": 0 to 1} on one line: ${quoted(output)}`,
      );
    const { passed, score, figure, reason = last, isVerdict } = said;
    // Interpreters end with 1, too, when a program has a mistake, and say so on stderr.
    if (exit === 1 && (isVerdict ? passed : last !== "")) return failed(crashed);
    const actual = host.secrets.masked(`${figure}${reason && `: ${quoted(reason)}`}`);
    return { passed, actual, score };
  } catch (error) {
    if (host.signal.aborted) throw abortError();
    return failed(`could not be run: ${reasonOf(error)}`);
  }
}

/** A score that passes without a verdict, as that of a judge. */
const PASSING_SCORE = 0.5;

/**
 * The last line that is a verdict in JSON; without one, exit code 1 with a text as the reason, or 0 in silence.
 * Undefined for a verdict that cannot be read.
 */
function decisionIn(output: string, succeeded: boolean) {
  const lines = output.split("\n").map((line) => line.trim());
  const whole = onlyJsonIn(output);
  const line = lines.findLast((each) => {
    const value = tryParseJson(each);
    // Python prints NaN, which JSON does not have.
    return value === undefined ? /^\{.*["'](?:pass|score)["']/.test(each) : hasVerdict(value);
  });
  const said = hasVerdict(whole) ? whole : tryParseJson(line ?? "");
  if (!hasVerdict(said)) {
    const reason = output.trim() || undefined;
    // What a program prints may say no, so only a silent one passes by its exit code.
    if ((succeeded && reason) || lines.some((each) => meansVerdict.test(each))) return undefined;
    const figure = `exit code ${Number(!succeeded)}`;
    return { passed: succeeded, score: undefined, figure, reason, isVerdict: false };
  }
  const { pass, score, reason } = said;
  const points = typeof score === "number" && score >= 0 && score <= 1 ? score : undefined;
  const passed = pass === undefined ? Number(points) >= PASSING_SCORE : pass;
  if (typeof passed !== "boolean" || points !== score) return undefined;
  const figure = points === undefined ? `verdict ${passed ? "pass" : "fail"}` : `score ${points}`;
  const given = typeof reason === "string" ? reason : undefined;
  return { passed, score: points, figure, reason: given, isVerdict: true };
}

const hasVerdict = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && ("pass" in value || "score" in value);

/** A line that was to be a verdict, such as one of several lines of JSON, or `False`. */
const meansVerdict = /^\{|["'](?:pass|score)["']|^(?:true|false|none|null|nan)$/i;
