import { createHash } from "node:crypto";

/** Hash of a growing string, to test prefixes without keeping the text. */
export class TextHash {
  /** UTF-16 units. */
  length = 0;
  private hash = createHash("sha256");

  grow(piece: string): void {
    this.length += piece.length;
    this.hash.update(piece, "utf16le"); // in UTF-8, halves of a surrogate pair would be lost
  }

  /** An independent copy of the current state. */
  copy(): TextHash {
    return Object.assign(new TextHash(), { length: this.length, hash: this.hash.copy() });
  }

  /** Whether a text starts with the hashed one. */
  isPrefixOf(text: string): boolean {
    if (text.length < this.length) return false;
    const start = new TextHash();
    start.grow(text.slice(0, this.length));
    return start.hash.digest("hex") === this.hash.copy().digest("hex");
  }
}
