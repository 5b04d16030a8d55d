import type { EventBatches } from "../../../api/sse.ts";
import type { Host } from "../../../host/host.ts";
import { finalOutcome } from "../../../runs/outcome.ts";
import type { Form } from "../../../runs/outcome.ts";
import { RunTrace } from "../../../runs/trace.ts";
import type { RunEvents, TopRun } from "./state.ts";

/** ms after which a stream that was lost is opened again. */
const REOPEN_AFTER = 10_000;

/** The events of a run that are being read, or were. */
export class WatchedRun implements RunEvents {
  readonly trace = new RunTrace();
  forms: readonly Form[] = [];
  problem: string | undefined;
  readonly failedNode: string | undefined;
  /** Status of the run when its stream was opened. */
  readonly #status: string;
  /** Monotonic ms at which the stream ended; undefined while it is open. */
  endedAt: number | undefined;

  /** `failedNode` is known from an earlier command; there is no stream then. */
  constructor(status: string, failedNode?: string) {
    this.#status = status;
    this.failedNode = failedNode;
    if (failedNode !== undefined) this.endedAt = 0;
  }

  get isOpen(): boolean {
    return this.endedAt === undefined;
  }

  /** Whether another stream may tell more: the run continued, or the stream was lost. */
  isOutdated({ status }: TopRun, now: number): boolean {
    if (this.endedAt === undefined || this.problem !== undefined) return false;
    const isRead = status === "paused" && this.trace.status === "paused";
    return status !== this.#status || (!isRead && now - this.endedAt > REOPEN_AFTER);
  }

  /** Reads a stream to the end of the run, its pause, or the loss of the connection. */
  async read(events: EventBatches, host: Host, onChange: () => void): Promise<void> {
    try {
      for await (const batch of events) {
        for (const event of batch) {
          this.trace.add(event, host.now().getTime());
          const outcome = finalOutcome(event, false);
          if (!outcome) continue;
          this.forms = outcome.forms ?? [];
          return;
        }
        onChange();
      }
    } catch {
      // The log shows what became of the run; its events are read again if it continues.
    } finally {
      this.endedAt = host.elapsed();
      onChange();
    }
  }
}
