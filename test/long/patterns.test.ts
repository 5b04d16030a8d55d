import { expect, test } from "vitest";
import { redactText } from "../../src/redact/text.ts";
import { parseCondition } from "../../src/commands/conditions/index.ts";
import { patternValues, parsePatterns } from "../../src/commands/kb/sync/patterns.ts";
import { safePath } from "../../src/host/safe-path.ts";
import { redactSecrets } from "../../src/redact/text.ts";
import { plainMessage, parseErrorBody } from "../../src/api/error-body.ts";
import { parseDuration } from "../../src/lib/numbers.ts";
import { CliError } from "../../src/errors.ts";
import { setAt, valueAt } from "../../src/lib/json.ts";
import { newSecrets } from "../../src/redact/keys.ts";
import { readRowFile } from "../../src/lib/formats/rows-file.ts";
import { explosion, patterns } from "../lib/patterns.ts";
import { against, http, lines, say } from "../lib/raw-server.ts";

// The time for text from others is at most linear.

test.each(patterns().map((each) => [each.where, each] as const))(
  "takes linear time: %s",
  (_, pattern) => expect(explosion(pattern, 20_000)).toBeUndefined(),
);

const bytes = (text: string) => new TextEncoder().encode(text);
const secrets = newSecrets({ KB_KEY: "dataset-0123456789" });

const error = { kind: "text", read: (value: string) => ({ value, actual: value }) } as const;

/** Readers of text from users and servers. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  masking: redactText,
  redaction: (text) => redactSecrets({ process_data: text }),
  "keys in use": secrets.masked,
  "API errors": (text) =>
    plainMessage(
      parseErrorBody({ status: 500, headers: {}, text: JSON.stringify({ message: text }) }),
    ),
  "document names": safePath,
  durations: parseDuration,
  conditions: (text) => parseCondition("--where", `error~${text}`, { fields: { error } }),
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
  " and ",
  " and not (",
  " or a",
  '"key":"',
  "- ",
  "a: ",
]);

/** ms of processor time of the fastest of three runs. */
async function best(read: (text: string) => unknown, text: string): Promise<number> {
  let min = Infinity;
  for (let round = 0; round < 3 && min > 1; round++) {
    const began = process.cpuUsage();
    try {
      await read(text);
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
    }
    min = Math.min(min, process.cpuUsage(began).user / 1000);
  }
  return min;
}

test.each(Object.entries(readers))("a reader takes linear time: %s", async (_, read) => {
  const slow: string[] = [];
  for (const piece of pieces) {
    const text = (size: number) => piece.repeat(Math.ceil(size / piece.length));
    const long = await best(read, text(16_000));
    if (long < 60) continue;
    const short = await best(read, text(2000));
    if (long > 24 * short) slow.push(`${long} ms instead of ${short} ms for ${piece}`);
  }
  expect(slow).toEqual([]);
});

test("an error of 100 kB of line breaks is parsed at once", async () => {
  const body = JSON.stringify({ message: `${"\n".repeat(100_000)}x`, code: "x", status: 400 });
  const ran = await against([say(http(400, body))], lines.create);
  expect(ran).toMatchObject({ exit: 5, out: "" });
});
