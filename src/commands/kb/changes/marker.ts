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

/**
 * Marks new documents soon after they were created, so that a kill leaves few without marks: ten at a
 * time, or those of the last second. One request for each would take as long as their upload.
 */
export class Marker {
  readonly #write: WriteMarks;
  readonly #host: Host;
  /** The batch that waits for more documents. */
  #batch: Batch | undefined;
  /** Batches are written one after the other, because the first one creates the fields. */
  #last: Promise<unknown> = Promise.resolve();
  #isEnded = false;

  constructor(write: WriteMarks, host: Host) {
    this.#write = write;
    this.#host = host;
  }

  /** Adds a document; returns what comes of its marks. The last one of a batch waits for that. */
  async add(sent: SentDocument): Promise<Pick<Batch, "written">> {
    const batch = (this.#batch ??= this.#newBatch());
    if (batch.sent.push(sent) === MARK_BATCH) {
      this.writeNow();
      await batch.written;
    }
    return batch;
  }

  /** Writes the marks of documents that wait for others. */
  writeNow(): void {
    this.#batch?.full.abort();
    this.#batch = undefined;
  }

  /** Resolves when all marks are written. */
  async flush(): Promise<void> {
    this.writeNow();
    await this.#last;
  }

  /** Writes nothing more; resolves when no request is open. */
  async end(): Promise<void> {
    this.#isEnded = true;
    await this.flush().catch(() => {}); // thrown before
  }

  #newBatch(): Batch {
    const before = this.#last;
    const sent: SentDocument[] = [];
    const full = new AbortController();
    const write = async () => {
      await this.#host.sleep(MARK_DELAY, full.signal).catch(() => {});
      if (this.#batch?.sent === sent) this.#batch = undefined;
      await before;
      return this.#isEnded ? undefined : this.#write(sent);
    };
    const written = write();
    written.catch(() => {}); // thrown by `add` or `flush`
    this.#last = written;
    return { sent, full, written };
  }
}
