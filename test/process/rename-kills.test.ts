import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bin } from "../lib/shell.ts";
import { sampled } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

let onRequest: (line: string) => void = () => {};
const server = await testSandbox({
  onRequest: ({ method, path }) => onRequest(`${method} ${path}`),
});
const kb = "Handbook";
const folder = await temporaryDirectory();
const numbers = [1, 2, 3, 4, 5];
const text = (number: number) => `# Kapitel ${number}\r\n\r\nÜber 🎉 ${number}\n`;

const done = async (...argv: string[]) => (await server.done(["kb", ...argv], { folder })).out;

/** Starts the built program and kills it when the request of this pattern arrives for the nth time. */
async function killedAt(pattern: RegExp, nth: number, argv: readonly string[], home: string) {
  const child = spawn(process.execPath, [bin("kb"), ...argv], {
    env: {
      ...server.env,
      PATH: process.env["PATH"],
      HOME: home,
      KB_STATE_DIR: join(home, "state"),
    },
    stdio: "ignore",
  });
  const ended = once(child, "close");
  let count = 0;
  onRequest = (line) => {
    if (pattern.test(line) && ++count === nth) child.kill("SIGKILL");
  };
  expect(await ended).toEqual([null, "SIGKILL"]);
  onRequest = () => {};
}

const moments: readonly (readonly [string, RegExp, number])[] = [
  ["while the content is read", /download-zip/, 2],
  ["at the first rename", /update-by-text/, 1],
  ["at a later rename", /update-by-text/, 4],
  ["while the result is verified", /update-by-text|GET .*\/documents\/[\da-f-]{36}$/, 14],
];

test.each(sampled(3, moments))(
  "a run of renames that is killed %s loses nothing and continues",
  async (_, pattern, nth) => {
    const home = await temporaryDirectory();
    await server.cli(["kb", "delete", kb, "--yes", "--if-exists"]);
    await done("create", kb, "--indexing-technique", "economy");
    await done("metadata", "create", kb, "team", "--type", "string");
    for (const number of numbers)
      await done("doc", "add", kb, `${number}.md`, "--text", text(number));
    await done("doc", "wait", kb);
    for (const number of numbers)
      await done("metadata", "set", kb, `${number}.md`, "--set", `team=team ${number}`);
    const ids = await done("doc", "list", kb, "--jq", "[.[] | .id] | sort | .[]");

    const path = join(folder, "names.csv");
    await writeFile(path, `doc,name\n${numbers.map((n) => `${n}.md,neu/${n}.md\n`).join("")}`);
    const line = ["doc", "rename", kb, "--each", path, "--concurrency", "2"];
    await killedAt(pattern, nth, line, home);
    const again = await server.cli(["kb", ...line], { folder: home });
    expect(again.exit, again.err).toBe(0);

    expect(await done("doc", "list", kb, "--jq", "[.[] | .id] | sort | .[]")).toBe(ids);
    for (const number of numbers) {
      const name = `neu/${number}.md`;
      const dir = join(home, "downloads");
      await done("doc", "download", kb, name, "--dir", dir);
      expect(await readFile(join(dir, name), "utf8")).toBe(text(number));
      const filter = '.doc_metadata[] | select(.name == "team") | .value';
      expect(await done("doc", "show", kb, name, "--jq", filter)).toBe(`team ${number}\n`);
      expect(await done("doc", "show", kb, name, "--jq", ".display_status")).toBe("available\n");
    }
  },
);
