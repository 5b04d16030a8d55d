import { usage } from "../../../errors.ts";
import { pipe } from "../../../lib/pipe.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { evaluate, readExpectations } from "../expect/index.ts";
import {
  countEvents,
  filterKinds,
  followDisplayed,
  followMany,
  newFollowCounts,
  TextStream,
} from "../follow/index.ts";
import { checkRecord, recordTo } from "../recording/index.ts";
import type { eventsParams } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";

type EventsInput = Input<typeof eventsParams>;

/** Yields the events or the text of runs; throws their outcome or failed expectations. */
export async function* run(input: EventsInput, context: Context): AsyncGenerator<unknown> {
  const kinds = parseKinds(input.only);
  const runIds = [...new Set(input.workflow_run_id)];
  const [runId = "", ...others] = runIds;
  const asText = Boolean(input.text || input.reasoning);
  checkFlags(input, asText, others.length > 0, context);
  await checkRecord(input, context);
  const expectations = await readExpectations(input, context);
  const counts = newFollowCounts();
  const options = {
    reconnect: input.follow ?? false,
    throughPauses: input.through_pauses ?? false,
    snapshot: !input.no_snapshot,
  };
  const follow = (id: string) => followDisplayed({ ...options, runId: id }, context, counts);
  if (others.length > 0) {
    const merged = followMany(runIds, follow, context);
    yield* pipe(merged, countEvents(counts, context), filterKinds(kinds));
    return;
  }
  const evaluation = evaluate(expectations, context);
  const events = pipe(
    follow(runId),
    countEvents(counts, context),
    recordTo(input, context),
    evaluation,
    filterKinds(kinds),
  );
  const text = new TextStream({ ...input, late: true }, context);
  yield* asText ? text.read(events) : events;
  if (counts.events === 1 && !asText && options.snapshot) await context.notice(onlyFinalEvent);
  await evaluation.report();
  if (text.incomplete) throw text.incomplete;
}

/** The server sends only the last event of an ended run (server §15.3). */
const onlyFinalEvent = `the run has already ended, so the server sends no node events; record them with ${commandLine("wf run", [], { record: "FILE" })}`;

function checkFlags(
  input: EventsInput,
  asText: boolean,
  isMany: boolean,
  { options }: Context,
): void {
  const wrong = (message: string) => usage(message);
  if (isMany && input.record !== undefined) throw wrong("--record takes a single run");
  if (isMany && (input.expect || input.junit !== undefined))
    throw wrong("--expect and --junit take a single run");
  if (!asText) return;
  if (isMany) throw wrong("--text and --reasoning take a single run");
  if (input.only)
    throw wrong("--only filters events; it cannot be used with --text or --reasoning");
  if (options.typed !== undefined)
    throw wrong("--text and --reasoning cannot be used with -o, --json or --jq");
}

/** Event kinds of `--only a,b --only c`; undefined for all kinds. */
function parseKinds(only: readonly string[] = []): ReadonlySet<string> | undefined {
  const kinds = only.flatMap((each) => each.split(",")).map((kind) => kind.trim());
  const invalid = kinds.find((kind) => !/^[a-z_]+$/.test(kind));
  if (invalid !== undefined) {
    throw usage(
      `--only: invalid event kind ${JSON.stringify(invalid)}`,
      "examples: node_finished, text_chunk, workflow_finished",
    );
  }
  return kinds.length === 0 ? undefined : new Set(kinds);
}
