import { beforeAll, describe, expect, test } from "vitest";
import { testSandbox } from "../../lib/sandbox.ts";

const server = await testSandbox();
const list = (...flags: readonly string[]) =>
  server.cli(["kb", "doc", "list", "Handbook", ...flags]);
const names = async (where: string) =>
  (await list("--where", where, "--columns", "name")).out.trim().split("\n").sort().join(" ");

beforeAll(async () => {
  await server.done(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
  const fields = { team: "string", since: "time", status: "number", "my n": "number" };
  for (const [name, type] of Object.entries(fields))
    await server.done(["kb", "metadata", "create", "Handbook", name, "--type", type]);
  const documents = {
    a: ["team=hr", "since=2026-05-01", "status=7", "my n=3"],
    b: ["team=it", "since=2026-05-02T10:00Z", "status=12", "my n=12"],
    c: [],
  };
  for (const [name, values] of Object.entries(documents)) {
    await server.done(["kb", "doc", "add", "Handbook", name, "--text", `text ${name}`]);
    const sets = values.flatMap((each) => ["--set", each]);
    if (sets.length > 0) await server.done(["kb", "metadata", "set", "Handbook", name, ...sets]);
  }
  await server.done(["kb", "doc", "wait", "Handbook"]);
});

describe("metadata fields are columns", () => {
  test.each<[columns: string, rows: string]>([
    ["name,team", "c\t\nb\tit\na\thr\n"],
    ["name,metadata.team", "c\t\nb\tit\na\thr\n"],
    ["name,status,doc_metadata.status", "c\tavailable\t\nb\tavailable\t12\na\tavailable\t7\n"],
    ["since", "\n2026-05-02T10:00:00Z\n2026-05-01T00:00:00Z\n"],
  ])("%s", async (columns, rows) => {
    expect((await list("--columns", columns)).out).toBe(rows);
  });

  test("+ adds columns to the default ones, -o wide those of the values", async () => {
    const cells = async (...flags: readonly string[]) =>
      (await list(...flags)).out.split("\n").map((line) => line.split(/\t| {2,}/));
    const added = await cells("--columns", "+team,+metadata.status", "-o", "tsv");
    const own = ["name", "status", "error", "words", "hits", "created", "id"];
    expect(added[0]).toEqual([...own, "team", "metadata.status"]);
    expect(added[2]?.slice(-2)).toEqual(["it", "12"]);
    const [wide] = await cells("-o", "wide");
    expect(wide?.slice(-5)).toEqual(["id", "team", "since", "doc_metadata.status", "my n"]);
    expect((await list("--columns", "help")).out).toMatch(/\nid\ndoc_metadata.NAME\n$/);
    const [first] = JSON.parse((await list("--json", "--columns", "+team")).out) as [object];
    expect(Object.keys(first)).toEqual([...own, "team"]);
  });

  test("they sort as their type: 3 before 12", async () => {
    expect((await list("--columns", "my n", "--sort", "my n")).out).toBe("3\n12\n\n");
  });

  test("a document without a value is last in both directions", async () => {
    const { out } = await list("--columns", "my n", "--sort", "my n", "--reverse");
    expect(out).toBe("12\n3\n\n");
  });

  test("a sort concerns all rows, of which the first are shown", async () => {
    const { out, err } = await list("--columns", "name", "--sort", "name", "--limit", "2");
    expect([out, err]).toEqual(["a\nb\n", "2 of 3 shown\n"]);
  });

  test("JSON without columns has the server's fields", async () => {
    const rows = JSON.parse((await list("-o", "json")).out) as readonly object[];
    expect(rows[0]).toHaveProperty("doc_metadata");
    expect(rows[0]).not.toHaveProperty("team");
  });

  test("a path of which no row has a value is named", async () => {
    const { out, err } = await list("--columns", "name,data_source_info.upload_id,team");
    expect(out).toBe("c\t\t\nb\t\tit\na\t\thr\n");
    expect(err).toContain('no row has a value of "data_source_info.upload_id"');
    expect(err).not.toContain('"team"');
  });

  test.each(["tem", "doc_metadata.tem", "metadata.tem"])(
    "%s is unknown: those there are, are named",
    async (column) => {
      const { exit, err } = await list("--columns", `name,${column}`);
      expect(exit).toBe(2);
      expect(err).toContain(`column "${column}" not found in the knowledge base`);
      expect(err).toContain("fields are team, since, status, my n");
    },
  );
});

describe("--where", () => {
  test.each<[where: string, found: string]>([
    ["team = hr", "a"],
    ["team != hr", "b c"],
    ["team does not exist", "c"],
    ["team ~ T", "b"],
    ["doc_metadata.status > 8", "b"],
    ["status = available and not team = hr", "b c"],
    ['"my n" >= 3', "a b"],
    ["since = 2026-05-01", "a"],
    ["since > 2026-05-01", "b"],
    ["since >= 2026-05-01T00:01Z", "b"],
    ["since <= 2026-05-01 or words > 100", "a"],
    ["since < 2026-05-01", ""],
    ["since != 1777593600", "b c"],
    ["created > 2026-01-01", "a b c"],
  ])("%s: %s", async (where, found) => {
    expect(await names(where)).toBe(found);
  });

  test.each<[where: string, problem: string]>([
    ["tea = x", "unknown field tea\nhint: did you mean team?"],
    ['"no such" = x', "unknown field no such\nhint: valid fields: name, "],
    ["since > 2026-02-30", "invalid time; valid: 2026-05-01, 2026-05-01T10:00Z"],
    ["since ~ 2026", "since is a time; valid operators: > >= < <= = !="],
    ["doc_metadata.status > x", "invalid number"],
  ])("%s is invalid", async (where, problem) => {
    const { exit, err } = await list("--where", where);
    expect(exit).toBe(2);
    expect(err).toContain(problem);
  });

  test("reads all pages, and says how many match", async () => {
    server.seen.length = 0;
    const { out, err } = await list("--where", "team = hr", "--limit", "1", "-o", "name");
    expect(out).toMatch(/^[0-9a-f-]{36}\n$/);
    expect(err).toBe("1 of 3 rows match (filtered locally)\n");
  });

  test("names fields as JSON does, too", async () => {
    expect(await names("display_status = available and word_count > 0")).toBe("a b c");
    expect(await names("created_at < 2026-01-01")).toBe("");
  });

  test("stops at the limit of matches, and claims no number", async () => {
    const flags = ["--where", "words > 0", "--columns", "name"];
    const some = await list(...flags, "--limit", "1");
    expect([some.out, some.err]).toEqual(["c\n", "1 shown, more may match\n"]);
    const page = await list(...flags, "--limit", "1", "--page", "2");
    expect([page.out, page.err]).toEqual(["b\n", "1 shown, more may match\n"]);
    const all = await list(...flags, "--all");
    expect([all.out, all.err]).toEqual(["c\nb\na\n", "3 of 3 rows match (filtered locally)\n"]);
    const sorted = await list(...flags, "--limit", "1", "--sort", "name");
    expect([sorted.out, sorted.err]).toEqual([
      "a\n",
      "3 of 3 rows match (filtered locally); 1 shown\n",
    ]);
  });
});
