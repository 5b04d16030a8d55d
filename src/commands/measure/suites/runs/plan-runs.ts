import { usage } from "../../../../errors.ts";
import { requireNear } from "../../../../host/safe-path.ts";
import { shellQuote } from "../../../../lib/command-line.ts";
import { didYouMean } from "../../../../lib/did-you-mean.ts";
import { sha256 } from "../../../../lib/sha256.ts";
import { isUuid } from "../../../../lib/text.ts";
import type { Context } from "../../../task/command-spec.ts";
import { requireTrusted } from "../../../task/files.ts";
import { openApp, runAnswer, stopsSuite } from "../../ask/index.ts";
import type { OnEvents, SuiteAnswer } from "../../ask/index.ts";
import { runFields } from "../../../wf/expect/index.ts";
import { assignedInputs } from "../../../wf/forms/index.ts";
import { openChecker, openSearches } from "../answers/index.ts";
import type { CheckAnswer, Searches, TestRun, TestSelection } from "../answers/index.ts";
import { testContent, filesIn, needsText, readSuite } from "../../suite-file/index.ts";
import type { Suite, SuiteTest, SuiteTurn } from "../../suite-file/index.ts";

/** One run of a test to do. */
export interface PlannedRun {
  readonly suite: Suite;
  readonly test: SuiteTest;
  /** The name of the test in results. */
  readonly name: string;
  /** Number of the repeat, from 1; those that confirm continue the numbers. */
  readonly repeat: number;
  /** `old`: of what --against names; `new`: of what is tested. */
  readonly side: TestRun["side"];
  /** Hash of what the test asks and expects. */
  readonly content: string;
  /** Whether the test is asked again. */
  readonly confirms: boolean;
  /** Whether all tests are asked again, for a second look at the suite. */
  readonly secondLook: boolean;
  readonly asker: Asker;
  readonly checkAnswer: CheckAnswer;
  readonly searches: Searches;
}

/** The name of a test that is not run, and of its suite. */
export interface SkippedTest {
  readonly suite: string;
  readonly test: string;
}

/** Suites with those of their tests that are run. */
export type SelectedSuites = ReturnType<typeof selectTests>;

/** The name of a test in results: unique among all suites. */
export const testNameOf = (run: { readonly suite: string; readonly test: string }): string =>
  `${run.suite}: ${run.test}`;

/** Selects tests, and the share of a shard: every so many. Throws `usage` for a word of --only that no test has. */
function selectTests(
  all: readonly Suite[],
  choice: Omit<TestSelection, "suites">,
  failed?: ReadonlySet<string>,
) {
  const { only, shard, first } = choice;
  const chosen =
    only.length > 0 ? new Set(only.flatMap((word) => namedTests(word, all))) : undefined;
  /** Tests that `skip`, `only` or the command line leaves out, in all shards. */
  const skipped: SkippedTest[] = [];
  let index = 0;
  let room = first ?? Infinity;
  const suites = all.map((suite) => {
    const nameOf = ({ name: test }: SuiteTest) => ({ suite: suite.name, test });
    const isMeant = (test: SuiteTest) =>
      chosen?.has(test) !== false && failed?.has(testNameOf(nameOf(test))) !== false;
    const selected = selectedTests(suite.tests.filter(isMeant)).slice(0, room);
    room -= selected.length;
    skipped.push(...suite.tests.filter((test) => !selected.includes(test)).map(nameOf));
    const tests = selected.filter(
      () => shard === null || index++ % shard.count === shard.index - 1,
    );
    return { ...suite, tests };
  });
  const files = all.map(({ name, text, budget }) => ({ name, sha256: sha256(text), budget }));
  return { suites, skipped, selection: { suites: files, ...choice } };
}

/** The tests with this tag; if none has it, those with this part of a name, in which `*` is any text. */
function namedTests(word: string, suites: readonly Suite[]): SuiteTest[] {
  const all = suites.flatMap(({ name: suite, tests }) =>
    tests.map((test) => ({ test, name: testNameOf({ suite, test: test.name }) })),
  );
  const tagged = all.filter(({ test }) => test.tags.includes(word));
  const parts = word.toLowerCase().split("*");
  const isNamed = (name: string) => {
    let at = 0;
    return parts.every((part) => {
      const found = name.indexOf(part, at);
      at = found + part.length;
      return found >= 0;
    });
  };
  const found = tagged.length > 0 ? tagged : all.filter(({ name }) => isNamed(name.toLowerCase()));
  if (found.length > 0) return found.map(({ test }) => test);
  const near = didYouMean(
    word,
    all.flatMap(({ test }) => [...test.tags, test.name]),
  );
  throw usage(
    `--only: no test has the tag or name ${JSON.stringify(word)}`,
    near === undefined ? undefined : `did you mean ${JSON.stringify(near)}?`,
  );
}

/** With `only` in a suite, those tests; otherwise all but skipped ones. */
export function selectedTests(tests: readonly SuiteTest[]): readonly SuiteTest[] {
  const hasOnly = tests.some(({ only }) => only);
  return tests.filter(({ only, skip }) => !skip && (only || !hasOnly));
}

/** The runs of the selected tests, and those that come when tests are asked again. */
export type RunPlan = Awaited<ReturnType<typeof planRuns>>;

/** A test that is asked, of the new and with --against of the old side. */
type OpenTest = Awaited<ReturnType<typeof openTests>>[number];

/** Throws what keeps all from being asked. */
async function openTests(
  suites: readonly Suite[],
  { repeat, against }: Pick<TestSelection, "repeat" | "against">,
  context: Context,
) {
  const old = against === null ? undefined : oldSide(against, context);
  const opened = [];
  for (const suite of suites) {
    if (suite.tests.length === 0) continue;
    const searches = await openSearches(suite, context);
    const asker = await openAsker(suite, context);
    const oldAsker = old && (await openAsker({ ...suite, ...old.suite }, old.context));
    const checkAnswer = await openChecker(suite, context);
    for (const test of suite.tests) {
      const name = testNameOf({ suite: suite.name, test: test.name });
      const content = testContent(test);
      const run = { suite, test, name, content, asker, checkAnswer, searches };
      opened.push({ run, oldAsker, repeats: test.repeat ?? repeat });
    }
  }
  return opened;
}

/**
 * The runs of the selected tests in rounds: the first repeat of all, then the second, so that a bad minute hits no test
 * whole. With --against, old and new are asked in turn, and each goes first as often as the other. Throws what keeps all
 * from being asked.
 */
export async function planRuns(
  suites: readonly Suite[],
  selection: Pick<TestSelection, "repeat" | "against">,
  context: Context,
) {
  const tests = await openTests(suites, selection, context);
  type Asked = Pick<PlannedRun, "confirms" | "secondLook">;
  /** How often each test has been planned, by its name. */
  const counts = new Map<string, number>();
  const next = ({ run, oldAsker }: OpenTest, index: number, asked: Asked): PlannedRun[] => {
    const repeat = (counts.get(run.name) ?? 0) + 1;
    counts.set(run.name, repeat);
    const mine: PlannedRun = { ...run, ...asked, repeat, side: "new" };
    if (!oldAsker) return [mine];
    const pair: PlannedRun[] = [{ ...mine, asker: oldAsker, side: "old" }, mine];
    return (index + repeat) % 2 === 0 ? pair : pair.toReversed();
  };
  /** One round after the other of tests of which so many runs are wanted. */
  const rounds = (wanted: (test: OpenTest) => number, asked: Asked) =>
    Array.from({ length: Math.max(0, ...tests.map(wanted)) }, (_, round) =>
      tests.flatMap((test, index) => (wanted(test) > round ? next(test, index, asked) : [])),
    ).flat();
  return {
    runs: rounds(({ repeats }) => repeats, { confirms: false, secondLook: false }),
    /** So many more runs of tests, by the names that results have. */
    again: (wanted: ReadonlyMap<string, number>, { secondLook = false } = {}): PlannedRun[] =>
      rounds(({ run }) => wanted.get(run.name) ?? 0, { confirms: true, secondLook }),
    /** Version of the server; null if it does not tell. */
    serverVersion: tests.flatMap(({ run }) => run.asker.serverVersion ?? [])[0] ?? null,
  };
}

/** What --against names: `profile:NAME`, a version of a workflow by its ID, or an application. */
function oldSide(against: string, context: Context) {
  const [, profile] = /^profile:(.+)$/.exec(against) ?? [];
  const { app } = context.options.flags;
  if (profile !== undefined) return { suite: {}, context: context.with({ profile, app }) };
  if (isUuid(against)) return { suite: { version: against }, context };
  return { suite: { app: against }, context };
}

/** What a command says about programs, and its line with --allow-run. */
interface AllowingLine {
  readonly allow_run?: boolean | undefined;
  readonly allowing: string;
}

/**
 * Reads suites and selects their tests; the server is that of the command unless it is known. Throws `usage` as both do, for a file that a suite must not name, and for a
 * program without --allow-run.
 */
export async function readSelected(
  paths: Iterable<string>,
  choice: Omit<TestSelection, "suites" | "server"> & { readonly server: string | undefined },
  { failed, ...line }: AllowingLine & { readonly failed?: ReadonlySet<string> | undefined },
  { api, host, options }: Context,
): Promise<SelectedSuites> {
  const all: Suite[] = [];
  for (const path of paths) all.push(await readSuite(path, host.files));
  const server = choice.server ?? (await api.baseUrl());
  const selected = selectTests(all, { ...choice, server }, failed);
  const { allowFiles: allowed } = options.flags;
  for (const suite of selected.suites)
    for (const path of filesIn(suite)) await requireNear(path, { file: suite.path, allowed }, host);
  requireAllowed(selected.suites, line, host);
  return selected;
}

function requireAllowed(suites: readonly Suite[], line: AllowingLine, host: Context["host"]): void {
  const turns = suites.flatMap(({ tests }) => tests.flatMap((test) => test.turns));
  const programs = turns.flatMap((turn) => turn.program ?? []);
  const [program] = programs;
  if (!program) return;
  if (line.allow_run) {
    const paths = new Set(programs.map(({ from }) => from.path));
    for (const path of paths) requireTrusted(path, "the programs of its checks", host);
    return;
  }
  const { from, words } = program;
  throw usage(
    `${from.path} line ${from.line}: check runs the program ${words.map(shellQuote).join(" ")}, which needs --allow-run`,
    `read the program, then run ${line.allowing}`,
  );
}

/** Sends the turns of a suite to its application. */
interface Asker {
  /**
   * Asks and passes on the events as they arrive. Repeats only the first question of a conversation,
   * while the model limits its rate. `started` is a run of the workflow to follow instead, if what the
   * server still tells about it decides every condition. Throws what kept the answer from being known.
   */
  ask(
    turn: SuiteTurn,
    conversation: string | undefined,
    onEvents: OnEvents,
    started: string | undefined,
  ): Promise<SuiteAnswer>;
  readonly context: Context;
  /** Name of the application, as the server calls it; null if nothing is asked. */
  readonly app: string | null;
  readonly serverVersion?: string | undefined;
}

/** The asker of a suite's application. Throws `usage` if a test does not suit its kind. */
async function openAsker(suite: Suite, common: Context): Promise<Asker> {
  if (suite.tests.every(({ turns }) => turns.length === 0))
    return { app: null, context: common, ask: () => Promise.reject(new Error("nothing to ask")) };
  const { name: app, mode, isChat, context, send, serverVersion } = await openApp(suite, common);
  const unsuitable = (problem: string, needs: string) =>
    usage(
      problem,
      `application ${JSON.stringify(app)} has mode ${mode}, which ${needs}; another one is chosen with app: NAME in the suite, or --app NAME`,
    );
  for (const { turns, from, name } of suite.tests) {
    const place = `${from.path} line ${from.line}: test ${JSON.stringify(name)}`;
    if (isChat && turns.some(({ query }) => query === undefined))
      throw unsuitable(`${place} has no query`, "takes a query");
    if (mode === "workflow" && turns.some(({ query }) => query !== undefined))
      throw unsuitable(`${place} has a query`, "takes inputs: { NAME: … } instead");
    if (!isChat && turns.length > 1)
      throw unsuitable(`${place} has several turns`, "has no memory");
  }
  return {
    app,
    context,
    serverVersion,
    async ask(turn, conversation, onEvents, started) {
      const answer =
        started && (await runAnswer({ runId: started }, onEvents, context).catch(orAsk(context)));
      const isKnown = ({ trace }: SuiteAnswer) =>
        turn.expectations.every(({ check }) => check.evaluate(trace).passed !== undefined) &&
        !(needsText(turn) && runFields.text.read(trace).missing === "unknown");
      if (answer && isKnown(answer)) return { ...answer, followed: true };
      if (started !== undefined) await onEvents("again");
      const inputs = await assignedInputs(filesApart(turn), context);
      return send({ query: turn.query, inputs, onEvents }, conversation);
    },
  };
}

/** The server may have forgotten a run. */
const orAsk = (context: Context) => (error: unknown) => {
  if (context.host.signal.aborted || stopsSuite(error)) throw error;
};

/** Values such as `@report.pdf` are files to upload, as with --input. */
function filesApart({ inputs, assigned }: SuiteTurn) {
  const isFile = (value: unknown): value is string =>
    typeof value === "string" && value.startsWith("@");
  const entries = Object.entries(inputs);
  return {
    input: [...entries.filter(([, value]) => isFile(value)), ...Object.entries(assigned)].map(
      ([name, value]) => `${name}=${String(value)}`,
    ),
    inputs: Object.fromEntries(entries.filter(([, value]) => !isFile(value))),
  };
}
