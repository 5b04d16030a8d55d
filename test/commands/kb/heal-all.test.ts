import { afterEach, beforeAll, expect, test } from "vitest";
import { parseFault } from "../../../src/sandbox/protocol/faults.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { temporaryDirectory } from "../../lib/support.ts";

const server = await testSandbox({ speed: 400, models: true });
const folder = await temporaryDirectory();
const kb = (...argv: string[]) => server.cli(["kb", ...argv], { folder });
const done = async (...argv: string[]) =>
  (await server.done(["kb", ...argv], { folder })).out.trim();
const provider = "langgenius/stub/stub";
afterEach(() => server.sandbox.setFaults([]));

/** The first columns of rows, without IDs. */
const cells = (out: string) => out.split("\n").map((row) => row.split("\t").slice(0, 4).join(" "));
const ids = new Map<string, string>();
const writes = () =>
  server.seen.filter(({ method, path }) => method !== "GET" && path.includes("create-by")).length;

/** Fails the list of documents of a knowledge base. */
const unreadable = (name: string, status: number) =>
  server.sandbox.setFaults([
    parseFault(`GET *datasets/${ids.get(name)}/documents status=${status} times=99`),
  ]);

beforeAll(async () => {
  for (const name of ["One", "Two", "<b>Three</b>"]) {
    ids.set(name, await done("create", name, "--indexing-technique", "high_quality", "-o", "name"));
    server.sandbox.models.withoutCredentials.add(provider);
    await done("doc", "add", name, `<i>${name}</i>.md`, "--text", "some text");
    await kb("doc", "wait", name);
    server.sandbox.models.withoutCredentials.delete(provider);
  }
});

test("check -o html is a page with a table of the findings and their repairs", async () => {
  const { out, exit } = await kb("check", "--all", "-o", "html", "--fail-if", "problems > 0");
  expect(exit).toBe(14);
  expect(out).toContain("<title>Check of knowledge bases – kb check</title>");
  const heads = [...out.matchAll(/<th scope="col"[^>]*>([^<]*)/g)].map(([, head]) => head);
  expect(heads).toEqual(["problem", "kb", "name", "note", "repair", "id"]);
  expect(out.match(/<tr[^>]*>.*?kb heal One/s)?.[0]).toContain("&lt;i&gt;One&lt;/i&gt;.md");
  expect(out).toContain("&lt;b&gt;Three&lt;/b&gt;");
  expect(out).not.toContain("<b>Three");
  expect(out).toContain("1 of 1 checks failed: problems &gt; 0 (problems is 3)");
  const one = await kb("check", "One", "-o", "html");
  expect(one.exit).toBe(0);
  expect(one.out).toContain("<title>Check of knowledge base One – kb check</title>");
});

test("--all and named ones exclude each other, and so do --all and --backup", async () => {
  server.seen.length = 0;
  for (const [problem, argv] of [
    ["name knowledge bases, or pass --all", []],
    ["use either named knowledge bases or --all, not both", ["One", "--all"]],
  ] as const)
    expect(await kb("heal", ...argv)).toMatchObject({
      exit: 2,
      err: `error: ${problem}\nhint: \`kb heal --all\`\n`,
    });
  const backedUp = await kb("heal", "--all", "--backup");
  expect([backedUp.exit, backedUp.err]).toEqual([2, "error: use --all without --backup\n"]);
  expect(writes()).toBe(0);
});

test("--all names a knowledge base that fails, and heals the others", async () => {
  unreadable("Two", 400);
  const planned = await kb("heal", "--all", "--dry-run");
  expect(planned.exit).toBe(10);
  expect(planned.err).toContain("2 repairs planned, 1 left: Two");
  expect(writes()).toBe(0);
  const ran = await kb("heal", "--all");
  expect(cells(ran.out)).toEqual([
    "<b>Three</b> update document <i><b>Three</b></i>.md",
    "Two failed knowledge base Two",
    "One update document <i>One</i>.md",
    "",
  ]);
  expect(ran.exit).toBe(10);
  expect(ran.err).toContain("2 repairs, 1 left: Two");
  server.sandbox.setFaults([]);
  const again = JSON.parse((await kb("heal", "--all", "-o", "json")).out) as object[];
  expect(again).toMatchObject([{ kb: "Two", action: "update", name: "<i>Two</i>.md" }]);
  const nothing = await kb("heal", "--all");
  expect(nothing).toMatchObject({ exit: 0, out: "", err: "0 repairs\n" });
});

test("what every knowledge base would fail with ends --all", async () => {
  unreadable("Two", 401);
  const ran = await kb("heal", "--all");
  expect(ran.exit).toBe(4);
  expect(ran.err).not.toContain("left: Two");
});
