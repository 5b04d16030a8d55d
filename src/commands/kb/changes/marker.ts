import type { CliError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import type { SentDocument } from "./upload.ts";

/** Number of documents that are marked together, and ms after which fewer are. */
const MARK_BATCH = 10;
const MARK_DELAY = 1000;

/** Writes the marks of documents; returns a failure after which the others can still be marked. */
type WriteMarks = (sent: readonly SentDocument[]) => Promise<CliError | undefined>;

/** Documents that are marked together. */
interface Batch {
  readonly sent: SentDocument[];
  /** Ends the wait for more of them. */
  readonly full: AbortController;
  readonly written: ReturnType<WriteMarks>;
}

export type Marker = ReturnType<typeof newMarker>;

/**
 * Marks new documents soon after they were created, so that a kill leaves few without marks: ten at a
 * time, or those of the last second. One request for each would take as long as their upload.
 */
export function newMarker(writeMarks: WriteMarks, host: Host) {
  /** The batch that waits for more documents. */
  let waiting: Batch | undefined;
  /** Batches are written one after the other, because the first one creates the fields. */
  let last: Promise<unknown> = Promise.resolve();
  let isEnded = false;
  const newBatch = (): Batch => {
    const before = last;
    const sent: SentDocument[] = [];
    const full = new AbortController();
    const write = async () => {
      await host.sleep(MARK_DELAY, full.signal).catch(() => {});
      if (waiting?.sent === sent) waiting = undefined;
      await before;
      return isEnded ? undefined : writeMarks(sent);
    };
    const written = write();
    written.catch(() => {}); // thrown by `add` or `flush`
    last = written;
    return { sent, full, written };
  };
  /** Writes the marks of documents that wait for others. */
  const writeNow = (): void => {
    waiting?.full.abort();
    waiting = undefined;
  };
  /** Resolves when all marks are written. */
  const flush = async (): Promise<void> => {
    writeNow();
    await last;
  };
  return {
    writeNow,
    flush,
    /** Adds a document; returns what comes of its marks. The last one of a batch waits for that. */
    async add(sent: SentDocument): Promise<Pick<Batch, "written">> {
      const batch = (waiting ??= newBatch());
      if (batch.sent.push(sent) === MARK_BATCH) {
        writeNow();
        await batch.written;
      }
      return batch;
    },
    /** Writes nothing more; resolves when no request is open. */
    async end(): Promise<void> {
      isEnded = true;
      await flush().catch(() => {}); // thrown before
    },
  };
}
