import type { Files } from "../../../host/host.ts";
import type { SourceDocument } from "./change.ts";

/** Sources that are read together, and the sum of their sizes beyond the first one. */
const MAX_SOURCES = 16;
const MAX_SIZE = 2 ** 20;

/**
 * Reads sources shortly before they are sent. Small ones are read several at a time: to wake a thread for
 * each of them took more processor time than to send it.
 */
export class SourceReader {
  readonly #files: Pick<Files, "read">;
  readonly #order: readonly SourceDocument[];
  /** Number of sources that were read. */
  #next = 0;
  readonly #ahead = new Map<SourceDocument, Promise<Uint8Array>>();

  /** `order` is that in which they will be sent. */
  constructor(order: readonly SourceDocument[], files: Pick<Files, "read">) {
    this.#order = order;
    this.#files = files;
  }

  /** The content of a source; when it is sent again, that of then. */
  read(source: SourceDocument): Promise<Uint8Array> {
    if (!this.#ahead.has(source)) this.#readFrom(this.#order.indexOf(source, this.#next));
    const content = this.#ahead.get(source) ?? this.#contentOf(source);
    this.#ahead.delete(source);
    return content;
  }

  #contentOf({ read, location }: SourceDocument): Promise<Uint8Array> {
    return read ? read() : this.#files.read(location);
  }

  #readFrom(first: number): void {
    if (first < 0) return;
    let size = 0;
    const sources = this.#order.slice(first, first + MAX_SOURCES);
    for (const [at, source] of sources.entries()) {
      if (at > 0) size += source.size;
      if (size > MAX_SIZE) return;
      const content = this.#contentOf(source);
      content.catch(() => {}); // thrown when it is sent
      this.#ahead.set(source, content);
      this.#next = first + at + 1;
    }
  }
}
