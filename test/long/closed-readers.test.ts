import { expect, test } from "vitest";
import { closingReader } from "../lib/closing-reader.ts";

const { readUntil } = await closingReader();

test.concurrent.each([
  ...["tsv", "jsonl", "json"].map(
    (format) => [0, ["kb", "tag", "list", "--all", "-o", format]] as const,
  ),
  ...[1, 4000].map((bytes) => [bytes, ["kb", "tag", "list", "-o", "jsonl"]] as const),
  [0, ["kb", "--help"]],
  [0, ["kb", "help", "--json"]],
  [0, ["kb", "--version"]],
  [0, ["kb", "show", "Docs"]],
  [1, ["kb", "chunk", "list", "Docs", "long.txt", "--all", "-o", "json"]],
  [1, ["kb", "pull", "Docs"]],
  [1, ["wf", "logs", "--all", "-o", "jsonl"]],
] as const)(
  "a reader that closes after %d bytes of %j: 0, and stderr is empty",
  async (bytes, argv) => {
    expect(await readUntil(bytes, argv)).toEqual({ exit: 0, err: "" });
  },
);
