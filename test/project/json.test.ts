import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../src");

/** Files that parse text without numbers, or text of this program itself. */
const others: Readonly<Record<string, string>> = {
  "lib/json.ts": "the reader itself",
  "api/sse.ts": "one string of an event",
  "commands/conditions/reader.ts": "one string of a condition",
  "config/profiles.ts": "the file of profiles",
  "host/keyring-child.ts": "a request of the parent",
};

test("JSON from outside is read by parseJson, which keeps the digits of numbers", () => {
  const parsing = readdirSync(source, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts"))
    .filter((path) => readFileSync(join(source, path), "utf8").includes("JSON.parse("));
  expect(parsing.toSorted()).toEqual(Object.keys(others).toSorted());
});
