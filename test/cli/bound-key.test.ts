import { expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";

// A key bound to some knowledge bases: every route without the ID of one responds with 403.

const server = await testSandbox();
const made = async (name: string) => {
  const argv = ["kb", "create", name, "--indexing-technique", "economy", "-o", "name"];
  return (await server.cli(argv)).out.trim();
};
const [handbook, second, closed] = [
  await made("Handbook"),
  await made("Second"),
  await made("Shut"),
];
await server.cli(["kb", "doc", "add", "Handbook", "a.md", "--text", "Thirty days of leave"]);

const KB_KEY = `dataset-bound-${handbook},${second}`;
const ids = `Handbook=${handbook}, ${second}, ${closed}`;
const run = (line: string, env: Readonly<Record<string, string>> = {}) =>
  server.cli(line.split(" "), { env: { KB_PROFILE: "", KB_KEY, ...env } });

const hint =
  "hint: the key may be limited to some knowledge bases, which it cannot list: name them with `kb login PROFILE --kb NAME=ID` or KB_DATASET_IDS, or use their IDs\n";

test("ids work as ever", async () => {
  const ran = await run(`kb doc list ${handbook} -o name`);
  expect(ran).toMatchObject({ exit: 0, err: "" });
  expect(ran.out).toMatch(/^[0-9a-f-]{36}\n$/);
});

test.each(["kb list", "kb show Handbook", "kb tag list", "kb create Fresh"])(
  "%s recognises such a key, and calls no valid key invalid",
  async (line) => {
    const ran = await run(line);
    expect(ran.exit).toBe(4);
    expect(ran.err).toContain(hint);
    expect(ran.err).not.toMatch(/rejected|invalid|wrong|check the key/i);
  },
);

test("a knowledge base that the key is not bound to is reported as such", async () => {
  const ran = await run(`kb show ${closed}`);
  expect(ran.exit).toBe(4);
  expect(ran.err).toContain("hint: the key may be limited to other knowledge bases");
});

test("named in KB_DATASET_IDS, they have names, without a look-up", async () => {
  const before = server.seen.length;
  expect((await run("kb doc list Handbook", { KB_DATASET_IDS: ids })).exit).toBe(0);
  expect(server.seen.length - before).toBe(1);
});

test("a profile stores them; another profile and the environment override it", async () => {
  const folder = await temporaryDirectory();
  const base = server.env["KB_BASE_URL"] ?? "";
  const cli = (words: readonly string[], stdin = "") =>
    server.cli(words, {
      folder,
      stdin,
      env: { KB_PROFILE: "", KB_KEY: "", KB_BASE_URL: "" },
    });
  const add = ["kb", "login", "work", "--base-url", base, "--key-file", "-"];
  const named = ["--kb", `Rules=${handbook}`, "-o", "json"];
  const added = await cli([...add, ...named], KB_KEY);
  expect(JSON.parse(added.out)).toMatchObject({ knowledge_bases: { Rules: handbook } });
  await cli(["kb", "login", "work", "--kb", `Second=${second}`, "--no-input"]);
  const shown = await cli(["kb", "profile", "show", "work", "-o", "json"]);
  expect(JSON.parse(shown.out)).toMatchObject({
    knowledge_bases: { Rules: handbook, Second: second },
  });
  expect((await cli(["kb", "doc", "list", "Rules"])).exit).toBe(0);
  const doctor = await cli(["kb", "doctor", "-o", "json"]);
  expect(JSON.parse(doctor.out)).toContainEqual(
    expect.objectContaining({
      result: "ok",
      found: "opens only some knowledge bases: 2 of the 2 configured",
    }),
  );
  expect(JSON.parse(doctor.out)).toContainEqual(
    expect.objectContaining({ check: "application key", result: "warning" }),
  );
  const wrong = await cli(["kb", "login", "work", "--kb", "Rules", "--no-input"]);
  expect(wrong).toMatchObject({ exit: 2 });
  expect(wrong.err).toContain("does not end in a knowledge base ID");
});

test("doctor explains such a key where none is named, and does not call it wrong", async () => {
  const ran = await run("kb doctor -o json");
  const found = (JSON.parse(ran.out) as { check: string; next: string }[]).find(
    ({ check }) => check === "knowledge key",
  );
  expect(found).toMatchObject({ result: "problem", next: hint.slice(6, -1) });
  expect(JSON.stringify(found)).toContain("the key is valid");
});

test("KB_DATASET_IDS that are none are refused before anything is sent", async () => {
  const from = server.seen.length;
  const ran = await run("kb list", { KB_DATASET_IDS: "Handbook" });
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(server.seen.length).toBe(from);
});
