import type { CliError } from "../../../errors.ts";
import { counted, firstNames } from "../../../lib/text.ts";
import type { LiveItems, ReportStep } from "../../../output/report-model.ts";
import type { Context } from "../../task/command-spec.ts";
import type { TestRun, TestSelection } from "./answers/index.ts";
import { doubtfulTests } from "./comparison.ts";
import { gateInput, missingLooks } from "./gate-input.ts";
import type { Compared } from "./gate-input.ts";
import { judge, mostFresh } from "./gate/index.ts";
import { isExcused, overBudget, TestBoard, testNameOf, testResults } from "./runs/index.ts";
import type { PlannedRun, RunPlan, TestResult } from "./runs/index.ts";

/** What became of runs, and what ended them before all were carried out. */
export interface RunsEnd {
  readonly runs: readonly TestRun[];
  readonly stopped: CliError | undefined;
}

/** Carries out runs, and shows them on the board. */
export type Ask = (
  runs: readonly PlannedRun[],
  board: TestBoard,
) => AsyncGenerator<ReportStep, RunsEnd>;

/** Errors after which a test is not asked again. */
const MAX_ERRORS = 3;

/** How often each test is asked again, by its name, why, and whether only to look at the suite. */
interface Due {
  readonly wanted: ReadonlyMap<string, number>;
  readonly why: string;
  readonly secondLook?: boolean;
}

/** What is needed to ask tests again. */
export interface AskingAgain {
  readonly plan: RunPlan;
  readonly ask: Ask;
  /** Names and budgets of the suites. */
  readonly suites: TestSelection["suites"];
  readonly context: Context;
}

/**
 * Asks again what the verdict about a baseline needs, in rounds (docs/verdicts.md): first the tests of which every
 * answer was an error, then those that miss what they passed or are new and miss, tests that show whether a cache
 * answers, and all tests, if the suite seems worse. Returns all runs, the first ones included.
 */
export async function* askAgain(
  first: RunsEnd,
  compared: Omit<Compared, "tests">,
  asking: AskingAgain,
): AsyncGenerator<ReportStep, RunsEnd> {
  const { plan, context } = asking;
  const board = new TestBoard([], context.host.elapsed);
  yield shownWhileAsking(board);
  const retried = yield* askErrorsAgain(first, board, asking);
  const runs = [...retried.runs];
  const looks = { controls: false, second: false };
  const said = new Set<string>();
  let { stopped } = retried;
  while (!stopped) {
    const now = context.host.now();
    const tests = testResults(runs.filter((run) => !isExcused(run, now)));
    const due = nextDue({ ...compared, tests }, looks);
    if (!due) break;
    if (overBudget(tests, asking).length > 0) {
      await context.notice("nothing is asked again: the budget of a suite is used up");
      break;
    }
    await noticeOf(due, said, context);
    const next = plan.again(due.wanted, { secondLook: due.secondLook });
    board.add(next);
    const end = yield* asking.ask(next, board);
    runs.push(...end.runs);
    ({ stopped } = end);
  }
  return { runs, stopped };
}

/** Names the tests that are asked for a reason for the first time. */
async function noticeOf({ wanted, why }: Due, said: Set<string>, { notice }: Context) {
  const names = [...wanted.keys()].filter((name) => !said.has(`${why} ${name}`));
  for (const name of names) said.add(`${why} ${name}`);
  if (names.length > 0)
    await notice(`asking ${counted(names.length, "test")} again, ${why}: ${firstNames(names)}`);
}

/** Tests that are asked again round by round do not end one by one. */
const shownWhileAsking = (board: TestBoard): LiveItems => ({
  running: () => board.running(),
  takeEnded: () => [],
  progress: () => board.progress(),
});

/** Asks tests once more of which every answer was an error: the server may have been out of order for a minute. */
async function* askErrorsAgain(
  first: RunsEnd,
  board: TestBoard,
  { plan, ask, context }: AskingAgain,
): AsyncGenerator<ReportStep, RunsEnd> {
  const silent = testResults(first.runs).filter(({ runs, errors }) => runs === 0 && errors > 0);
  if (silent.length === 0 || first.stopped) return first;
  await context.notice(`asking ${counted(silent.length, "test")} again after errors`);
  const names = new Set(silent.map(({ name }) => name));
  const again = plan.runs.filter(({ name }) => names.has(name));
  board.add(again);
  const end = yield* ask(again, board);
  const keyOf = (run: TestRun) => `${testNameOf(run)} ${run.repeat}`;
  const asked = new Map(end.runs.map((run) => [keyOf(run), run]));
  return { runs: first.runs.map((run) => asked.get(keyOf(run)) ?? run), stopped: end.stopped };
}

/** What is asked next; undefined if nothing is due any more. */
function nextDue(
  compared: Compared,
  looks: { controls: boolean; second: boolean },
): Due | undefined {
  const { tests, rules } = compared;
  if (rules.confirm === 0) return undefined;
  const found = judge(gateInput(compared));
  const byName = new Map(tests.map((test) => [test.name, test]));
  const due = found.tests.flatMap((test) => {
    const result = byName.get(test.name);
    if (!result || isFailing(result)) return [];
    return "isAsked" in test && test.isAsked ? [test.name] : [];
  });
  const isLong = (name: string) => (byName.get(name)?.fresh?.runs ?? 0) >= rules.confirm;
  const [more, few] = [due.filter(isLong), due.filter((name) => !isLong(name))];
  if (few.length > 0) return once(few, `up to ${rules.confirm} times each`);
  if (!looks.controls) {
    looks.controls = true;
    if (found.controls.length > 0)
      return once(found.controls, "to see whether a cache answers, which repeats its answers");
  }
  const { p, limit } = found.suite;
  if (p <= limit && !looks.second) {
    looks.second = true;
    const wanted = missingLooks(tests);
    const why = "since fewer runs passed than before";
    if (wanted.size > 0) return { wanted, why, secondLook: true };
  }
  if (more.length > 0) return once(more, `up to ${mostFresh(rules)} times, since it never passes`);
  return undefined;
}

const once = (names: readonly string[], why: string): Due => ({
  wanted: new Map(names.map((name) => [name, 1])),
  why,
});

const isFailing = ({ results }: TestResult): boolean =>
  results.filter(({ confirms, status }) => confirms && status === "error").length >= MAX_ERRORS;

/** Asks the tests again that miss what the other side passes, both in turn. Returns all runs. */
export async function* askBothAgain(
  first: RunsEnd,
  confirm: number,
  { plan, ask, context }: AskingAgain,
): AsyncGenerator<ReportStep, RunsEnd> {
  const side = (wanted: TestRun["side"]) =>
    testResults(first.runs.filter((run) => run.side === wanted));
  const names = doubtfulTests(side("new"), side("old"));
  if (confirm === 0 || first.stopped || names.length === 0) return first;
  await context.notice(
    `asking ${counted(names.length, "test")} again, ${counted(confirm, "time")} each: ${firstNames(names)}`,
  );
  const board = new TestBoard([], context.host.elapsed);
  yield shownWhileAsking(board);
  const again = plan.again(new Map(names.map((name) => [name, confirm])));
  board.add(again);
  const end = yield* ask(again, board);
  return { runs: [...first.runs, ...end.runs], stopped: end.stopped };
}
