import type { EventStage } from "../../../api/sse.ts";
import { diskProblem } from "../../../errors.ts";
import type { FollowResult } from "../../../follow/follow.ts";
import type { AppendFile, Host } from "../../../host/host.ts";
import { rememberRun } from "../../../host/remembered-runs.ts";
import type { Context } from "../../task/command-spec.ts";
import { endOfError, endOfRun, RecordingLines } from "./write.ts";

/** Commands that have said what failed. */
const told = new WeakSet<Host["files"]>();

/**
 * A stage that remembers the events of a run with nodes, if the settings say so: as a recording in the state
 * directory. What fails there is a notice, once, and never the run.
 */
export function rememberEvents(context: Context): EventStage<FollowResult> {
  const { files } = context.host;
  const lines = new RecordingLines(false, context);
  /** Lines that are not written, before the first node; undefined if the run is not remembered. */
  let held: string | undefined = "";
  let file: AppendFile | undefined;
  const unlessFailed = async (work: () => Promise<void>) => {
    await work().catch(async (error: unknown) => {
      held = undefined;
      if (told.has(files)) return;
      told.add(files);
      const reason = diskProblem(error)?.reason ?? String(error);
      await context.notice(`failed to remember the events of runs: ${reason}`);
    });
  };
  const close = async (end: string) => {
    if (held !== undefined) await unlessFailed(async () => file?.write(end));
    await file?.close().catch(() => {}); // what it lacks shows when it is read
  };
  return {
    async batch(events) {
      await unlessFailed(async () => {
        const ms = held === undefined ? 0 : await context.rememberRuns();
        held = ms === 0 ? undefined : held + lines.next(events);
        const node = events.find(({ event }) => /^(node|loop|iteration)_/.test(event));
        const run = node?.fields.workflow_run_id;
        if (held === undefined || (!file && run === undefined)) return;
        file ??= await rememberRun(run ?? "", ms, context.host);
        await file.write(held);
        held = "";
      });
      return events;
    },
    end: async ({ outcome }) => close(lines.end(await endOfRun(outcome))),
    failed: (error) => close(lines.end(endOfError(error))),
    abandoned: () => close(lines.end({ exit: 0, why: "left" })),
  };
}
