import { expect, test } from "vitest";
import type { RawHost } from "../../src/host/host.ts";
import { cli } from "../lib/support.ts";
import type { Ran } from "../lib/support.ts";

interface Started {
  readonly command: string;
  readonly args: readonly string[];
  readonly input: string | undefined;
  readonly shell: boolean | undefined;
  readonly less: string | undefined;
}

/** Runs a command line on a terminal; `exit` is the pager's exit code, or its error if it is missing. */
async function page(
  line: string,
  { rows = 10, env = {}, exit = 0 as number | Error } = {},
): Promise<Ran & { readonly started: readonly Started[] }> {
  const started: Started[] = [];
  const around = (host: RawHost): RawHost => ({
    ...host,
    stdout: { ...host.stdout, terminal: { rows } as NodeJS.WriteStream },
    spawn(command, args, { input, shell, env: given }) {
      started.push({ command, args, input, shell, less: given["LESS"] });
      const ended = exit instanceof Error ? Promise.reject(exit) : Promise.resolve(exit);
      return { exit: ended, output: Promise.resolve(""), kill: () => {} };
    },
  });
  const ran = await cli(line.split(" "), { tty: true, env, around });
  return { ...ran, started };
}

test("a page taller than the terminal goes to less", async () => {
  const plain = await cli(["kb", "help"]);
  const { out, exit, started } = await page("kb help");
  expect({ out, exit }).toEqual({ out: "", exit: 0 });
  expect(started).toEqual([
    { command: "less", args: ["-FRX"], input: plain.out, shell: undefined, less: undefined },
  ]);
});

test.each(["kb doc add --help", "kb help flags", "kb --help"])("%s is paged", async (line) => {
  expect((await page(line)).started).toHaveLength(1);
});

test("$PAGER runs in a shell, less gets the options of git", async () => {
  const own = await page("kb help", { env: { PAGER: "less -S" } });
  expect(own.started).toMatchObject([
    { command: "exec less -S", args: [], shell: true, less: "FRX" },
  ]);
  const chosen = await page("kb help", { env: { PAGER: "less", LESS: "R" } });
  expect(chosen.started).toMatchObject([{ less: "R" }]);
});

test.each(["less -S | cat", "LESS=S less", "less; true"])(
  "PAGER='%s' is left to the shell",
  async (PAGER) => {
    expect((await page("kb help", { env: { PAGER } })).started).toMatchObject([{ command: PAGER }]);
  },
);

test.each([
  ["fits the terminal", { rows: 500 }],
  ["is without a pager (PAGER=)", { env: { PAGER: "" } }],
  ["is without a pager (PAGER=cat)", { env: { PAGER: "cat" } }],
  ["is read aloud (KB_ACCESSIBLE)", { env: { KB_ACCESSIBLE: "1" } }],
  ["is on a dumb terminal", { env: { TERM: "dumb" } }],
])("a page that %s is printed", async (_, world) => {
  const { out, started } = await page("kb help", world);
  expect(started).toEqual([]);
  expect(out).toContain("Usage: kb <command> [flags]");
});

test.each([
  ["fails", 1],
  ["is missing", new Error("ENOENT")],
])("a pager that %s: the page is printed", async (_, exit) => {
  const { out, started, ...ran } = await page("kb help", { exit });
  expect(started).toHaveLength(1);
  expect(out).toContain("Usage: kb <command> [flags]");
  expect(ran).toMatchObject({ exit: 0, err: "" });
});

test("JSON is never paged", async () => {
  const { started, out } = await page("kb help --json");
  expect(started).toEqual([]);
  expect(JSON.parse(out)).toMatchObject({ program: "kb" });
});
