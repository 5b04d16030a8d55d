import { usage } from "../../../../errors.ts";
import type { Context } from "../../../task/command-spec.ts";
import { openApp, runAnswer, stopsSuite } from "../../ask/index.ts";
import type { OnEvents, SuiteAnswer } from "../../ask/index.ts";
import { runFields } from "../../expect/index.ts";
import { assignedInputs } from "../../forms/index.ts";
import { needsText } from "../file/index.ts";
import type { Suite, SuiteTurn } from "../file/index.ts";

/** Sends the turns of a suite to its application. */
export interface Asker {
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
}

/** The asker of a suite's application. Throws `usage` if a test does not suit its kind. */
export async function openAsker(suite: Suite, common: Context): Promise<Asker> {
  if (suite.tests.every(({ turns }) => turns.length === 0))
    return { app: null, context: common, ask: () => Promise.reject(new Error("nothing to ask")) };
  const { name: app, mode, isChat, context, send } = await openApp(suite, common);
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
  if (context.signal.aborted || stopsSuite(error)) throw error;
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
