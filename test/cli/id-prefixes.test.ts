import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { isIdPrefix } from "../../src/lib/text.ts";
import { cannedServer, ok } from "../lib/canned-server.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

const server = await testSandbox();
const folder = await temporaryDirectory();

test.each([
  ["91e85bce", true],
  ["91E85BCE", true],
  ["91e85bce-", true],
  ["91e85bce-52", true],
  ["91e85bce-52c8-4a0b-9d2e-3f4a5b6c7d8", true],
  ["91e85bce-52c8-4a0b-9d2e-3f4a5b6c7d8e", true], // a whole ID begins with itself
  ["91e85bc", false],
  ["91e85bce5", false], // a dash is missing
  ["91e85bcg", false],
  ["handbook", false],
  ["91e85bce-52c8-4a0b-9d2e-3f4a5b6c7d8e0", false],
])("%s is the beginning of an ID: %j", (text, expected) => {
  expect(isIdPrefix(text)).toBe(expected);
});

const ran = (line: string) => server.cli(line.split(" "), { folder });

const done = async (line: string) => (await server.done(line.split(" "), { folder })).out.trim();

const short = (id: string) => id.slice(0, 8);
const ids: Record<string, string> = {};

beforeAll(async () => {
  ids["kb"] = await done("kb create Handbook --indexing-technique economy -o name");
  ids["document"] = await done("kb doc add Handbook leave.md --text Thirty -o name");
  await done("kb doc wait Handbook");
  ids["chunk"] = await done("kb chunk list Handbook leave.md -o name");
  ids["tag"] = await done("kb tag create draft -o name");
  ids["field"] = await done("kb metadata create Handbook team --type string -o name");
  ids["run"] = await done("wf --app echo run --input query=hello --detach -o name");
  await done("wf --app convo chat send hello");
  ids["conversation"] = await done("wf --app convo conversation list -o name");
  ids["variable"] = await done(
    `wf --app convo conversation variables ${ids["conversation"]} -o name`,
  );
  ids["annotation"] = await done(
    "wf --app chat annotation create --question Where --answer Here -o name",
  );
});

/** The line with the first 8 characters of each ID, and with whole IDs. */
const both = (line: string) =>
  [short, (id: string) => id].map((form) =>
    line.replace(/\$(\w+)/g, (_, name: string) => form(ids[name] ?? "")),
  );

describe("the first 8 characters select the same as the ID", () => {
  test.each([
    "kb show $kb --jq .id",
    "kb show id:$kb --jq .id",
    "kb doc show $kb $document --jq .id",
    "kb chunk list Handbook $document --jq .[].id",
    "kb chunk show Handbook $document $chunk --jq .data.id",
    "kb tag bound $kb --jq .total",
    "wf --app echo show $run --jq .id",
    "wf --app echo wait $run --jq .id",
    "wf --app echo timeline $run",
    "wf --app echo events $run",
    "wf --app convo conversation messages $conversation --jq .[].query",
    "wf --app convo conversation set-variable $conversation $variable --value 1 --jq .id",
    "wf --app chat annotation update $annotation --question Where --answer There --jq .id",
  ])("%s", async (line) => {
    const [prefix, whole] = await Promise.all(both(line).map(ran));
    expect(whole?.err).not.toContain("not found");
    expect([prefix?.exit, prefix?.out]).toEqual([whole?.exit, whole?.out]);
  });

  test("of a tag and of a metadata field", async () => {
    expect(await done(`kb tag rename ${short(ids["tag"] ?? "")} final --jq .name`)).toBe("final");
    const field = short(ids["field"] ?? "");
    expect(await done(`kb metadata rename Handbook ${field} group --jq .name`)).toBe("group");
  });

  test("of a run that only this machine knows, to stop it", async () => {
    const line = "wf --app slow run --input query=x --input seconds=60000 --detach -o name";
    const run = await done(line);
    expect(await done(`wf --app slow stop ${short(run)} --jq .status`)).toBe("stopped");
  });

  test("in rows of --each, beside names", async () => {
    const made = await done("kb doc add Handbook b.md --text B -o name");
    await done("kb doc add Handbook c.md --text C");
    await done("kb doc wait Handbook");
    await writeFile(join(folder, "rows.csv"), `doc\n${short(made)}\nc.md\n`);
    await done(`kb doc disable Handbook --each ${join(folder, "rows.csv")}`);
    const enabled = `kb doc list Handbook --jq .[]|select(.enabled).name`;
    expect(await done(enabled)).toBe("leave.md");
  });
});

test("a whole ID needs no list", async () => {
  const before = server.seen.length;
  await done(`wf --app echo show ${ids["run"]}`);
  await done(`kb chunk show ${ids["kb"]} ${ids["document"]} ${ids["chunk"]}`);
  expect(server.seen.slice(before).map(({ path }) => path.replace(/^.*\/v1/, ""))).toEqual([
    expect.stringMatching(/^\/workflows\/run\/[0-9a-f-]{36}$/),
    expect.stringMatching(/^\/datasets\/.*\/documents\/.*\/segments\/[0-9a-f-]{36}$/),
  ]);
});

test("a name that looks like the beginning of an ID comes first", async () => {
  const other = short(ids["kb"] ?? "");
  const named = await done(`kb create ${other} -o name`);
  expect(await done(`kb show ${other} --jq .id`)).toBe(named);
  expect(await done(`kb show id:${other} --jq .id`)).toBe(ids["kb"]);
  await done(`kb delete ${named} --yes`);
});

test.each([
  ["kb show 00000000", 'error: knowledge base "00000000" not found\n'],
  ["kb show id:00000000", 'error: knowledge base "00000000" not found\n'],
  ["wf --app echo show 00000000", 'error: run "00000000" not found\n'],
  ["kb chunk show Handbook leave.md 00000000", 'error: chunk "00000000" not found\n'],
])("%s exits with 3", async (line, error) => {
  const { exit, err } = await ran(line);
  expect([exit, err.split("hint:")[0]]).toEqual([3, error]);
});

test("characters that several IDs begin with exit with 5 and list the IDs", async () => {
  const tags = ["1", "2"].map((end) => ({
    id: `91e85bce-52c8-4a0b-9d2e-3f4a5b6c7d8${end}`,
    name: `tag ${end}`,
    type: "knowledge",
    binding_count: "0",
  }));
  const canned = await cannedServer();
  const { exit, err } = await canned.run({ "GET /datasets/tags": ok(tags) }, [
    "kb",
    "tag",
    "rename",
    "91e85bce",
    "final",
  ]);
  expect([exit, err]).toEqual([
    5,
    [
      'error: tag ID "91e85bce" is ambiguous (2 matches)',
      "  91e85bce-52c8-4a0b-9d2e-3f4a5b6c7d81  tag 1",
      "  91e85bce-52c8-4a0b-9d2e-3f4a5b6c7d82  tag 2",
      "hint: enter more characters of the ID",
      "",
    ].join("\n"),
  ]);
});

test.each([
  ["kb show handbook", 'hint: did you mean "Handbook"?\n'],
  ["kb show Handbok", 'hint: did you mean "Handbook"?\n'],
  ["kb show Zzz", "hint: names are case-sensitive; run `kb list` to see them\n"],
  ["kb doc show Handbook Leave.md", 'hint: did you mean "leave.md"?\n'],
  [
    "kb doc show Handbook x.md",
    "hint: names are case-sensitive; run `kb doc list Handbook` to see them\n",
  ],
  ["kb tag rename Final x", 'hint: did you mean "final"?\n'],
  ["kb metadata rename Handbook Group x", 'hint: did you mean "group"?\n'],
  ["wf --app Echo logs", 'hint: did you mean "echo"?\n'],
  ["kb -p sandbx list", 'hint: did you mean "sandbox"?\n'],
])("%s suggests a name that exists", async (line, hint) => {
  expect((await ran(line)).err).toContain(hint);
});

test.each([
  ["91e", true],
  ["91E85BC", true],
  ["91", false],
  ["91x", false],
])("%s may be a beginning of an ID that is too short: %j", async (text, expected) => {
  const { exit, err } = await ran(`kb show ${text}`);
  expect(exit).toBe(3);
  expect(err.includes("and of an ID at least 8 characters are needed")).toBe(expected);
});
