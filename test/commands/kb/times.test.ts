/** Times in every way in: read in the same way, in UTC without a zone, and refused in milliseconds. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { spanOf } from "../../../src/lib/times.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();
const env = { TZ: "Asia/Singapore" };

beforeAll(async () => {
  await server.done(["kb", "create", "H", "--indexing-technique", "economy"]);
  await server.done(["kb", "doc", "add", "H", "a.md", "--text", "hello"]);
  await server.done(["kb", "metadata", "create", "H", "due", "--type", "time"]);
  await server.done(["kb", "metadata", "set", "H", "a.md", "--set", "due=1777600800"]);
});
beforeEach(() => {
  server.seen.length = 0;
});

const writes = (): string =>
  server.seen
    .filter(({ method }) => method !== "GET")
    .map(({ body }) => new TextDecoder().decode(body))
    .join("\n");

async function file(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

/** Times and their first seconds; 1777600800 is 2026-05-01T02:00:00Z. */
const times: readonly (readonly [typed: string, second: number | undefined])[] = [
  ["1777600800", 1_777_600_800],
  ["2026-05-01T02:00:00Z", 1_777_600_800],
  ["2026-05-01T02:00", 1_777_600_800],
  ["2026-05-01 02:00", 1_777_600_800],
  ["2026-05-01 02:00 UTC", 1_777_600_800],
  ["2026-05-01 02:00:00 gmt", 1_777_600_800],
  ["2026-05-01 10:00:00 +0800", 1_777_600_800],
  ["2026-05-01T10:00:00+08:00", 1_777_600_800],
  ["2026-05-01", 1_777_593_600],
  ["2026-05", 1_777_593_600],
  ["1777600800000", undefined],
  ["1777600800000000", undefined],
  ["-1777600800000", undefined],
  ["2026-02-30", undefined],
  ["2026-05-01 02:00 CET", undefined],
];

test.each(times)("%s begins at %s", (typed, second) => {
  const isOfOtherUnit = /^-?\d+$/.test(typed) && second === undefined;
  expect(spanOf(typed)?.first).toBe(isOfOtherUnit ? undefined : second);
});

/** Lines that set a field to a time. */
const ways: readonly (readonly [string, (typed: string) => Promise<readonly string[]>])[] = [
  ["--set", async (typed) => ["H", "a.md", "--set", `due=${typed}`]],
  [
    "--each with CSV",
    async (typed) => ["H", "--each", await file("each.csv", `document,due\na.md,${typed}\n`)],
  ],
];
describe.each(ways)("%s", (_, line) => {
  test.each(times)("%s", async (typed, second) => {
    const ran = await server.cli(["kb", "metadata", "set", ...(await line(typed))], { env });
    if (second === undefined) expect([ran.exit, writes()], ran.err).toEqual([2, ""]);
    else expect([ran.exit, writes().includes(`"value":${second}}`)], ran.err).toEqual([0, true]);
  });
});

test("seconds before 1970 are seconds", async () => {
  await server.done(["kb", "metadata", "set", "H", "a.md", "--set", "due=-86400"]);
  expect(writes()).toContain('"value":-86400}');
});

test.each([
  ["1777600800000", "due=1777600800"],
  ["1777600800123456", "due=1777600800"],
  ["-1777600800000", "due=-1777600800"],
])("for %s, the hint has the time in seconds", async (typed, meant) => {
  const { err } = await server.cli(["kb", "metadata", "set", "H", "a.md", "--set", `due=${typed}`]);
  expect(err).toContain(`times are in seconds: --set ${meant}`);
});

test.each(times)("--where with %s", async (typed, second) => {
  const reference = ["kb", "metadata", "set", "H", "a.md", "--set", `due=${second ?? 0}`];
  await server.done(reference);
  const line = ["kb", "doc", "list", "H", "--where", `due>='${typed}'`, "--jq", ".[].name"];
  const ran = await server.cli(line, { env });
  expect([ran.exit, ran.out], ran.err).toEqual(second === undefined ? [2, ""] : [0, "a.md\n"]);
});

test.each(times)("--since with %s", async (typed, second) => {
  const ran = await server.cli(["wf", "--app", "echo", "logs", `--since=${typed}`], { env });
  if (second === undefined) {
    expect([ran.exit, server.seen.length], ran.err).toEqual([2, 0]);
    return;
  }
  expect(ran.exit, ran.err).toBe(0);
  const path = server.seen.map((each) => each.path).find((each) => each.includes("after")) ?? "";
  const sent = new URL(path, "http://127.0.0.1").searchParams.get("created_at__after") ?? "";
  // Servers read it in UTC without a zone.
  expect(Date.parse(/Z$|[+-]\d\d:?\d\d$|^.{10}$/.test(sent) ? sent : `${sent}Z`)).toBe(
    second * 1000,
  );
});

test("front matter has times in the same forms", async () => {
  const directory = join(folder, "site");
  await mkdir(directory);
  await writeFile(join(directory, "b.md"), "---\ndue: 2026-05-01 02:00 UTC\n---\nhello\n");
  const line = ["kb", "sync", "H", directory, "--metadata-from", "front-matter"];
  expect((await server.cli(line, { env })).exit).toBe(0);
  expect(writes()).toContain('"value":1777600800}');
  server.seen.length = 0;
  await writeFile(join(directory, "b.md"), "---\ndue: 1777600800000\n---\nhello\n");
  expect([(await server.cli(line, { env })).exit, writes()]).toEqual([2, ""]);
});

test.each(times)("backup restore --at %s", async (typed, second) => {
  const line = [
    "kb",
    "backup",
    "restore",
    join(folder, "none"),
    "H",
    `--at=${typed}`,
    "--name",
    "R",
  ];
  const { exit, err } = await server.cli(line, { env });
  expect([exit, err.includes("is not a valid time")]).toEqual([2, second === undefined]);
});
