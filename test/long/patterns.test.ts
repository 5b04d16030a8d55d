import { expect, test } from "vitest";
import { redactText } from "../../src/redact/text.ts";
import { parseCondition } from "../../src/commands/condition.ts";
import { patternValues, parsePatterns } from "../../src/commands/kb/sync/patterns.ts";
import { safePath } from "../../src/host/safe-path.ts";
import { redactSecrets } from "../../src/redact/recordings.ts";
import { plainMessage, parseErrorBody } from "../../src/api/error-body.ts";
import { parseDuration } from "../../src/lib/duration.ts";
import { CliError } from "../../src/errors.ts";
import { setAt, valueAt } from "../../src/lib/json.ts";
import { newSecrets } from "../../src/redact/keys.ts";
import { readRowFile } from "../../src/lib/rows-file.ts";
import { explosion, patterns } from "../lib/patterns.ts";
import { against, http, lines, say } from "../lib/raw-server.ts";

// Texts that somebody else has written cost no more than their length.

test.each(patterns().map((each) => [each.where, each] as const))(
  "its work grows with the text and no faster: %s",
  (_, pattern) => expect(explosion(pattern, 20_000)).toBeUndefined(),
);

const bytes = (text: string) => new TextEncoder().encode(text);
const secrets = newSecrets({ KB_KEY: "dataset-0123456789" });

/** What reads texts of users and servers. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  masking: redactText,
  redaction: (text) => redactSecrets(text, "", true),
  "keys in use": secrets.masked,
  "refusals of a server": (text) =>
    plainMessage(
      parseErrorBody({ status: 500, headers: {}, text: JSON.stringify({ message: text }) }),
    ),
  "names of documents": safePath,
  durations: parseDuration,
  conditions: (text) => parseCondition("--where", `error~${text}`, { error: "text" }),
  "globs of --match": (text) =>
    patternValues("a/b/a/b.md", parsePatterns(["a={1}"], [text.slice(0, text.length / 20)])),
  "JSON Lines": (text) => readRowFile("a.jsonl", bytes(text)),
  "paths of JSON": (text) => [setAt({}, text.slice(0, 2000), 1), valueAt({}, text)],
};

const pieces = [
  "\n",
  " ",
  "a",
  "0",
  "/",
  '"',
  "\\",
  "-",
  "_",
  "key",
  "token-",
  "api_key=",
  "?a=",
  "sk-",
].concat([
  "dataset-",
  "Bearer ",
  "://a",
  "**/",
  "{a,b}",
  "[",
  "{",
  "&a ",
  "*a ",
  '"key":"',
  "- ",
  "a: ",
]);

/** ms of the quickest of three. */
async function best(read: (text: string) => unknown, text: string): Promise<number> {
  let least = Infinity;
  for (let round = 0; round < 3 && least > 1; round++) {
    const began = performance.now();
    try {
      await read(text);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
    }
    least = Math.min(least, performance.now() - began);
  }
  return least;
}

test.each(Object.entries(readers))(
  "the work of a reader grows with the text: %s",
  async (_, read) => {
    const found: string[] = [];
    for (const piece of pieces) {
      const text = (size: number) => piece.repeat(Math.ceil(size / piece.length));
      const long = await best(read, text(16_000));
      if (long < 60) continue;
      const short = await best(read, text(2000));
      if (long > 24 * short) found.push(`${long} ms instead of ${short} ms for ${piece}`);
    }
    expect(found).toEqual([]);
  },
);

test("a refusal of 100 kB of line ends is read at once", async () => {
  const body = JSON.stringify({ message: `${"\n".repeat(100_000)}x`, code: "x", status: 400 });
  const ran = await against([say(http(400, body))], lines.create);
  expect(ran).toMatchObject({ exit: 5, out: "" });
});
