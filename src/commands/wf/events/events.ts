import { CliError } from "../../../errors.ts";
import { evaluateWhileFollowing, expectationReport, readExpectations } from "../expect/index.ts";
import {
  answerText,
  countEvents,
  filterKinds,
  followMany,
  followRun,
  newFollowCounts,
  rememberTaskId,
  warnAboutGaps,
} from "../follow/index.ts";
import { checkRecord, recordTo } from "../recording/index.ts";
import type { RecordInput } from "../recording/index.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `wf events`. */
export interface EventsInput extends RecordInput {
  readonly workflow_run_id: readonly string[];
  readonly follow?: boolean | undefined;
  readonly through_pauses?: boolean | undefined;
  readonly no_snapshot?: boolean | undefined;
  readonly only?: readonly string[] | undefined;
  readonly text?: boolean | undefined;
  readonly reasoning?: boolean | undefined;
  readonly expect?: readonly string[] | undefined;
  readonly junit?: string | undefined;
}

/** Events of runs as they come; ends with what became of them, and of what was expected. */
export async function* run(input: EventsInput, context: Context): AsyncGenerator<unknown> {
  const kinds = kindsIn(input.only);
  const runs = [...new Set(input.workflow_run_id)];
  const [runId = "", ...others] = runs;
  const asText = Boolean(input.text || input.reasoning);
  check(input, asText, others.length > 0, context);
  await checkRecord(input, context);
  const expectations = await readExpectations(input, context);
  const tally = newFollowCounts();
  const follow = (run: string) =>
    rememberTaskId(
      warnAboutGaps(
        followRun(
          {
            runId: run,
            reconnect: input.follow ?? false,
            throughPauses: input.through_pauses ?? false,
            snapshot: !input.no_snapshot,
          },
          context,
          tally,
        ),
        context,
      ),
      context,
    );
  if (others.length > 0) {
    const together = countEvents(followMany(runs, follow, context), tally, context);
    yield* filterKinds(together, kinds);
    return;
  }
  const stream = recordTo(input, countEvents(follow(runId), tally, context), context);
  const events = evaluateWhileFollowing(stream, expectations, context);
  try {
    const { end, incomplete } = asText
      ? yield* answerText(events, { ...input, late: true }, context)
      : { end: yield* filterKinds(events, kinds), incomplete: undefined };
    if (tally.events === 1 && !asText && !input.no_snapshot) await context.notice(nodesAreGone);
    await expectationReport(end, expectations, context);
    if (incomplete) throw incomplete;
  } finally {
    await events.return(undefined as never); // where nobody reads on; it has ended otherwise
  }
}

/** Of a run that is over the server sends its end alone (server §15.3). */
const nodesAreGone =
  "the run was over, and the server sends no nodes of such a run; wf run --record FILE keeps them";

function check(input: EventsInput, asText: boolean, several: boolean, context: Context): void {
  const wrong = (message: string) => new CliError("usage", message, { sideEffect: "none" });
  if (several && input.record !== undefined) throw wrong("--record follows one run");
  if (several && (input.expect || input.junit !== undefined))
    throw wrong("--expect and --junit are about one run");
  if (!asText) return;
  if (several) throw wrong("--text and --reasoning show the text of one run");
  if (input.only) throw wrong("--only picks events, and --text and --reasoning print none");
  if (context.options.typed !== undefined)
    throw wrong("--text and --reasoning print text, in no other format");
}

/** Kinds of `--only a,b --only c`; undefined for every kind. */
function kindsIn(only: readonly string[] = []): ReadonlySet<string> | undefined {
  const kinds = only.flatMap((each) => each.split(",")).map((kind) => kind.trim());
  const wrong = kinds.find((kind) => !/^[a-z_]+$/.test(kind));
  if (wrong !== undefined) {
    throw new CliError("usage", `--only: ${JSON.stringify(wrong)} is no kind of event`, {
      sideEffect: "none",
      hint: "kinds are words such as node_finished, text_chunk or workflow_finished",
    });
  }
  return kinds.length === 0 ? undefined : new Set(kinds);
}
