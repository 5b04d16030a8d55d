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
  readonly written: Promise<CliError | undefined>;
  readonly write: () => void;
}

/**
 * Marks new documents soon after they were created, so that a kill leaves few without marks: ten at a
 * time, or those of the last second. One request for each would take as long as their upload.
 */
export class Marker {
  readonly #write: WriteMarks;
  readonly #host: Host;
  readonly #ended = new AbortController();
  /** The batch that is not full yet. */
  #batch: Batch | undefined;
  /** Batches are written one after the other, because the first one creates the fields. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(write: WriteMarks, host: Host) {
    this.#write = write;
    this.#host = host;
  }

  /** Adds a document; returns what comes of its marks. The last one of a batch waits for that. */
  async add(sent: SentDocument): Promise<Pick<Batch, "written">> {
    const batch = (this.#batch ??= this.#newBatch());
    batch.sent.push(sent);
    if (batch.sent.length === MARK_BATCH) {
      batch.write();
      await batch.written;
    }
    return batch;
  }

  /** Writes the marks of documents that wait for others. */
  writeNow(): void {
    this.#batch?.write();
  }

  /** Resolves when all marks are written. */
  async flush(): Promise<void> {
    this.writeNow();
    await this.#last;
  }

  /** Writes nothing more; resolves when no request is open. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#last.catch(() => {}); // thrown by `add` or `flush`
  }

  #newBatch(): Batch {
    let write = () => {};
    const isDue = new Promise<void>((resolve) => (write = resolve));
    const before = this.#last;
    const sent: SentDocument[] = [];
    const written = isDue.then(() => before).then(() => this.#write(sent));
    written.catch(() => {}); // the same
    const batch: Batch = {
      sent,
      written,
      write: () => {
        if (this.#batch !== batch) return;
        this.#batch = undefined;
        this.#last = written;
        write();
      },
    };
    this.#host.sleep(MARK_DELAY, this.#ended.signal).then(batch.write, () => {});
    return batch;
  }
}
