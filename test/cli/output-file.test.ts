/** `--output-file`: what is printed becomes a file, once it is complete. */
import { existsSync } from "node:fs";
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { canned, uuid } from "../lib/log-server.ts";
import { cli, temporaryDirectory } from "../lib/support.ts";

const folder = await temporaryDirectory();
const path = (name: string) => join(folder, name);

/** Two pages of knowledge bases; with `fails`, the second one fails. */
const baseServer = (fails = false) =>
  canned((url, response) => {
    const page = Number(url.searchParams.get("page"));
    response.setHeader("content-type", "application/json");
    if (fails && page === 2) response.statusCode = 404;
    const data = Array.from({ length: page < 3 ? 100 : 0 }, (_, at) => ({
      id: uuid(100 * page + at),
      name: `base ${100 * page + at}`,
    }));
    response.end(JSON.stringify({ data, page, total: 200, has_more: page === 1 }));
  });

test.each(["csv", "json", "jsonl", "md", "grid", "name"])(
  "a list as %s is in the file as a pipe gets it",
  async (form) => {
    const { env } = await baseServer();
    const line = ["kb", "list", "--all", "--columns", "name", "-o", form];
    const piped = await cli(line, { env });
    const ran = await cli([...line, "--output-file", path(form)], { env, tty: true });
    expect(ran).toEqual({ exit: 0, out: "", err: expect.stringContaining(`wrote ${path(form)}`) });
    expect(await readFile(path(form), "utf8")).toBe(piped.out);
    expect(piped.out).not.toBe("");
  },
);

test("a file is kept if the command fails, and nothing is left beside it", async () => {
  const { env } = await baseServer(true);
  await writeFile(path("kept.jsonl"), "before\n");
  const line = ["kb", "list", "--all", "-o", "jsonl", "--output-file", path("kept.jsonl")];
  const ran = await cli(line, { env });
  expect([ran.exit, ran.out]).toEqual([3, ""]);
  expect(await readFile(path("kept.jsonl"), "utf8")).toBe("before\n");
  expect((await readdir(folder)).filter((name) => name.includes("kept"))).toEqual(["kept.jsonl"]);
});

test("a result that is an error is written", async () => {
  await writeFile(path("empty.md"), "");
  const file = path("lint.json");
  const line = ["kb", "lint", folder, "--include", "empty.md", "-o", "json"];
  const ran = await cli([...line, "--output-file", file]);
  expect([ran.exit, ran.out]).toEqual([14, ""]);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject([{ finding: "empty" }]);
});

test("a file that cannot be written is an error", async () => {
  const { env } = await baseServer();
  const file = path("kept.jsonl/file.jsonl");
  const ran = await cli(["kb", "list", "--all", "-o", "jsonl", "--output-file", file], { env });
  expect([ran.exit === 0, ran.out, existsSync(file)]).toEqual([false, "", false]);
  expect(ran.err).toContain(file);
});
