import { mapConcurrent } from "../../../api/concurrent-map.ts";
import { usage } from "../../../errors.ts";
import type { CliError } from "../../../errors.ts";
import { groupBy } from "../../../lib/collect.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { firstNames } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import type { ReportStep } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import {
  checkContext,
  itemChecks,
  nameIn,
  openChecker,
  storedAnswer,
  storedSelection,
  sumOf,
} from "./answers/index.ts";
import type { SuiteAnswer, TestRun, TurnCheck } from "./answers/index.ts";
import type { testScoreParams } from "./command.ts";
import { prepareConclusion } from "./conclude.ts";
import { testContent, judgesOf } from "../suite-file/index.ts";
import type { Suite, SuiteTest, SuiteTurn } from "../suite-file/index.ts";
import {
  askedTurn,
  checkLimits,
  judgedChecks,
  questionsIn,
  questionsOf,
  readSelected,
  testResult,
  testResults,
} from "./runs/index.ts";
import type { PlannedRun, TestResult } from "./runs/index.ts";
import { readSavedResults } from "./saved-results.ts";

/** A stored run of a test, and what its answers are checked with. */
type StoredRun = Pick<PlannedRun, "suite" | "test" | "checkAnswer"> & { readonly stored: TestRun };

/** Applies suites to the answers of an earlier run: only judges are asked. Throws usage for results without answers. */
export async function* run(
  input: Input<typeof testScoreParams>,
  context: Context,
): AsyncGenerator<ReportStep> {
  const { host, notice, options } = context;
  const { conclude } = await prepareConclusion(input, context);
  const saved = await readSavedResults("", input.results, host);
  const { suites: _, ...none } = storedSelection({});
  const { repeat, server } = saved.selection;
  const flags = { suite: input.suite, "allow-run": true } as const;
  const allowing = commandLine("wf test score", [input.results], flags);
  const line = { allow_run: input.allow_run, allowing };
  const paths = input.suite ?? new Set(saved.tests.map((test) => test.path));
  const selected = await readSelected(paths, { ...none, repeat, server }, line, context);
  const { runs, skipped, unused } = await storedRuns(selected.suites, saved.tests, context);
  const old = withoutAnswers(input.results, selected.suites);
  if (saved.tests.length === 0) throw old;
  if (runs.length === 0) throw usage(`no test of these suites is in ${input.results}`);
  for (const { stored, test } of runs)
    if (["passed", "failed"].includes(stored.status) && test.turns.length > 0)
      if (!stored.turns.some(storedAnswer)) throw old;
  const isAsking = runs.some(({ test }) => test.turns.flatMap(judgesOf).length > 0);
  if (options.dryRun && !isAsking) return await notice("no judge is asked: nothing is sent");
  if (skipped.length > 0)
    await notice(`skipped, without stored answers: ${firstNames(skipped.map(({ test }) => test))}`);
  if (unused.length > 0)
    await notice(`not in the suites: ${firstNames(unused.map(({ name }) => name))}`);
  const scored: TestRun[] = [];
  for await (const row of mapConcurrent(runs, context.api.limitConcurrency(), judgedAgain)) {
    scored.push(row);
    context.progress({ done: scored.length, total: runs.length, unit: "answers" });
    yield { row };
  }
  const left = [...selected.skipped, ...skipped];
  const { selection } = selected;
  const tests = testResults(scored);
  const { at, serverVersion } = saved;
  yield* conclude({ tests, selection, skipped: left, at, serverVersion });
}

function withoutAnswers(file: string, suites: readonly Suite[]): CliError {
  const paths = suites.map(({ path }) => path);
  const line = commandLine("wf test run", paths.length > 0 ? paths : ["SUITE"], { save: file });
  return usage(`${file} has no answers that can be judged again`, `run ${line} once more`);
}

/** The stored runs of each test, by the names of suite and test, or by that of the test if only one has it. */
async function storedRuns(
  suites: readonly Suite[],
  saved: readonly TestResult[],
  context: Context,
) {
  const runs: StoredRun[] = [];
  const skipped: { readonly suite: string; readonly test: string }[] = [];
  const used = new Set<TestResult>();
  for (const suite of suites) {
    const checkAnswer = await openChecker(suite, context);
    for (const test of suite.tests) {
      const named = saved.filter((each) => each.test === test.name);
      const found =
        named.find((each) => each.suite === suite.name) ?? (named.length === 1 ? named[0] : null);
      if (!found) skipped.push({ suite: suite.name, test: test.name });
      else used.add(found);
      for (const stored of found?.results ?? []) runs.push({ stored, suite, test, checkAnswer });
    }
  }
  return { runs, skipped, unused: saved.filter((each) => !used.has(each)) };
}

/** The run with the results of all that its test expects now. Throws as the checks of an answer do. */
export async function judgedAgain({
  stored,
  suite,
  test,
  checkAnswer,
}: StoredRun): Promise<TestRun> {
  const run = {
    ...stored,
    suite: suite.name,
    path: suite.path,
    test: test.name,
    content: testContent(test),
    reused: true,
    pass: test.pass,
    quarantine: test.quarantine ?? null,
  };
  if (stored.status === "not run") return run;
  const checks: TurnCheck[] = [];
  let judge_tokens: number | null = null;
  const searched = storedSearch(test, stored);
  const { nameOf } = searched;
  let error = changedQuestion(stored, test);
  for (const [index, turn] of test.turns.entries()) {
    const asked = stored.turns[index];
    const answer = asked && storedAnswer(asked);
    if (!answer)
      error ??= (asked && stored.error) ?? again(`turn ${index + 1} has no stored answer`);
    if (!answer || error !== null) break;
    const turns = stored.turns.slice(0, index + 1);
    const checked = await checkAnswer(answer, turn, { found: searched.chunks, nameOf, turns });
    judge_tokens = sumOf(judge_tokens, checked.judgeTokens);
    const open = undecided(turn, answer);
    for (const check of checked.checks) {
      const isSame = (other: TurnCheck) => other.turn === index + 1 && other.check === check.check;
      const kept = open.has(check.check) ? stored.checks.find(isSame) : check;
      if (kept) checks.push({ ...kept, turn: index + 1 });
      else error = again(`the results do not decide ${check.check}`);
    }
    error = checked.error ?? error;
  }
  if (error === null) {
    checks.push(...searched.checks);
    ({ error } = searched);
  }
  const turns = test.turns.flatMap((turn, index) => {
    const asked = stored.turns[index];
    return asked ? [{ ...asked, expected: turn.answer, judge: askedTurn(turn).judge }] : [];
  });
  const limits = checkLimits(test, stored);
  checks.push(...limits.checks);
  if (limits.unknown !== undefined) error ??= again(`the ${limits.unknown} are not known`);
  return { ...run, ...judgedChecks(test, checks, error), checks, judge_tokens, error, turns };
}

const again = (why: string): string => `cannot be judged again: ${why}`;

/** Why stored answers are not those to the questions of a test; null if they are. */
function changedQuestion({ turns }: TestRun, test: SuiteTest): string | null {
  const isChanged = questionsOf(turns) !== questionsIn(test, turns.length);
  return isChanged ? again("its questions have changed") : null;
}

/** The conditions of a turn about what is not stored, such as nodes. */
const undecided = ({ expectations }: SuiteTurn, { trace }: SuiteAnswer): ReadonlySet<string> =>
  new Set(
    expectations.flatMap(({ name, check }) =>
      check.evaluate(trace).passed === undefined ? [name] : [],
    ),
  );

/** What the search of a test has found: searches are not repeated. */
function storedSearch({ search, context }: SuiteTest, stored: TestRun) {
  const { found } = stored;
  const [chunks, nameOf] = [found?.chunks ?? [], nameIn(found?.names ?? {})];
  const isChanged =
    search && found && (found.query !== search.query || found.top !== (search.top ?? null));
  const names = search ? [...search.documents, ...search.texts] : [];
  const items = names.map((name) => itemChecks(name, search?.kb ?? ""));
  const kept = items.map((names) => stored.checks.find(({ check }) => names.includes(check)));
  const missing = items[kept.indexOf(undefined)];
  const unknown = missing && `no search tells whether ${missing[0]}`;
  const why = isChanged ? "its search has changed" : unknown;
  const checks = [
    ...kept.flatMap((check) => check ?? []),
    ...context.map((each) => ({ turn: 1, ...checkContext(each, chunks, nameOf) })),
  ];
  return { checks, chunks, nameOf, error: why === undefined ? null : again(why) };
}

/** A test of now, and what its answers are checked with. */
type JudgeableTest = Pick<PlannedRun, "name" | "content" | "suite" | "test" | "checkAnswer">;

/**
 * Tests of a baseline; those whose expectations were edited since have the results of their stored answers by what is
 * expected now, where that can be judged. `edited` names them. Throws as the checks of an answer do.
 */
export async function judgedByNow(
  tests: readonly TestResult[],
  planned: readonly JudgeableTest[],
): Promise<{ readonly tests: readonly TestResult[]; readonly edited: readonly string[] }> {
  const byName = new Map(planned.map((run) => [run.name, run]));
  const judged: TestResult[] = [];
  const edited: string[] = [];
  for (const before of tests) {
    const now = byName.get(before.name);
    const runs = now && isEdited(before, now) ? await runsJudgedBy(now, before) : [];
    const isJudged = runs.length > 0 && runs.every(({ error }) => error === null);
    if (isJudged) edited.push(before.name);
    judged.push(isJudged ? { ...before, ...testResult(before.name, runs) } : before);
  }
  return { tests: judged, edited };
}

function isEdited({ results: [run] }: TestResult, now: JudgeableTest): boolean {
  const { content = null } = run ?? {};
  return content !== null && content !== now.content && now.test.turns.length > 0;
}

async function runsJudgedBy(now: JudgeableTest, { results }: TestResult): Promise<TestRun[]> {
  const runs: TestRun[] = [];
  for (const stored of results)
    if (!stored.confirms && stored.status !== "error")
      runs.push(await judgedAgain({ ...now, stored }));
  return runs;
}

/** Takes the answers of an earlier run instead of asking, each at most once. */
export type Reuse = Awaited<ReturnType<typeof openReuse>>;

/** Reads the results whose answers are taken: those of the same server and application to the same questions. */
export async function openReuse(file: string, context: Context) {
  const { tests, selection } = await readSavedResults("--reuse ", file, context.host);
  const isHere = selection.server === (await context.api.baseUrl());
  const all = isHere ? tests.flatMap(({ results }) => results) : [];
  const stored = groupBy(all, ({ app, turns }) => `${app} ${questionsOf(turns)}`);
  let taken = 0;
  return {
    /** The run as its suite judges it now; undefined if it must be asked. Throws as checks do. */
    async take({
      suite,
      test,
      repeat,
      asker,
      checkAnswer,
    }: PlannedRun): Promise<TestRun | undefined> {
      const own = `${asker.app} ${questionsIn(test)}`;
      const next = test.turns.length > 0 ? stored.get(own)?.shift() : undefined;
      if (!next) return undefined;
      const run = await judgedAgain({ stored: next, suite, test, checkAnswer });
      if (run.error !== null || run.status === "not run") return undefined;
      taken++;
      return { ...run, repeat, side: "new", confirms: false, second_look: false };
    },
    /** How many answers were taken. */
    get taken() {
      return taken;
    },
  };
}
