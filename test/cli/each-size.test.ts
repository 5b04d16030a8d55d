import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Files } from "../../src/host/host.ts";
import { diskFiles } from "../../src/host/node-files.ts";
import { readRowFile } from "../../src/lib/formats/rows-file.ts";
import { rareTest } from "../lib/sampled.ts";
import { testSandbox } from "../lib/sandbox.ts";
import { temporaryDirectory } from "../lib/support.ts";
import type { World } from "../lib/support.ts";

let seen = 0;
const server = await testSandbox({ onRequest: () => void seen++ });

/** More rows than are kept in memory; the last one has a name that is too long. */
const faulty = `name\n${`${"x".repeat(50)}\n`.repeat(42_000)}${"y".repeat(51)}\n`;

/** The text in two chunks of a stream, with something done between them. */
const around =
  (
    text: string,
    between: () => Promise<void> = () => Promise.resolve(),
  ): NonNullable<World["around"]> =>
  (host) => ({
    ...host,
    stdin: {
      isTTY: false,
      async *bytes() {
        const bytes = new TextEncoder().encode(text);
        yield bytes.subarray(0, 2 ** 21);
        await between();
        yield bytes.subarray(2 ** 21);
      },
    },
  });

async function sentBy(work: () => Promise<unknown>): Promise<number> {
  const before = seen;
  await work();
  return seen - before;
}

describe("rows that do not fit in memory", () => {
  rareTest("a faulty last row on stdin: nothing is sent, and no copy is left", async () => {
    const folder = await temporaryDirectory();
    const state = join(folder, "state");
    let copies = 0;
    const scratch: Files["scratch"] = async (directory) => {
      const file = await diskFiles.scratch(directory);
      copies++;
      expect(directory).toBe(state);
      expect((await stat(state)).mode & 0o777).toBe(0o700);
      return file;
    };
    const sent = await sentBy(async () => {
      const ran = await server.cli(["kb", "tag", "create", "--each", "-"], {
        folder,
        around: around(faulty),
        files: { scratch },
      });
      expect(ran).toMatchObject({ exit: 2, out: "" });
      expect(ran.err).toMatch(
        /^error: stdin row 42001 \(line 42002\), column name .*51 characters.*; no changes were made$/m,
      );
    });
    expect(sent).toBe(0);
    expect(copies).toBe(1);
    expect(await readdir(state)).toEqual([]);
  });

  test("a full disk ends the command with 1, before anything is sent", async () => {
    const folder = await temporaryDirectory();
    const full = Object.assign(new Error("full"), { code: "ENOSPC" });
    const scratch: Files["scratch"] = async (directory) => ({
      ...(await diskFiles.scratch(directory)),
      append: () => Promise.reject(full),
    });
    const sent = await sentBy(async () => {
      const ran = await server.cli(["kb", "tag", "create", "--each", "-"], {
        folder,
        around: around(faulty),
        files: { scratch },
      });
      const state = join(folder, "state");
      const err = `error: failed to store the rows of stdin in ${state}: disk full\n`;
      expect(ran).toEqual({ exit: 1, out: "", err });
    });
    expect(sent).toBe(0);
    expect(await readdir(join(folder, "state"))).toEqual([]);
  });

  test("no copy has a name while it is written, so that a kill leaves none", async () => {
    const folder = await temporaryDirectory();
    const interrupt = new AbortController();
    const during: (readonly string[])[] = [];
    const between = async () => {
      during.push(await readdir(join(folder, "state")));
      interrupt.abort("SIGINT");
    };
    const ran = await server.cli(["kb", "tag", "create", "--each", "-"], {
      folder,
      signal: interrupt.signal,
      around: around(faulty, between),
    });
    expect(ran).toMatchObject({ exit: 130, out: "" });
    expect(during).toEqual([[]]);
    expect(await readdir(join(folder, "state"))).toEqual([]);
  });

  test("a stream without an end ends with 2, before it fills the disk", async () => {
    // Only its length counts: that much cannot be held.
    const piece = Object.defineProperty(new Uint8Array(0), "length", { value: 2 ** 34 });
    async function* endless() {
      yield new TextEncoder().encode("name\n");
      for (;;) yield piece;
    }
    const sent = await sentBy(async () => {
      const ran = await server.cli(["kb", "tag", "create", "--each", "-"], {
        around: (host) => ({ ...host, stdin: { isTTY: false, bytes: endless } }),
      });
      expect(ran).toEqual({
        exit: 2,
        out: "",
        err: "error: stdin has more than 16 GiB of rows\nhint: divide the rows into several files\n",
      });
    });
    expect(sent).toBe(0);
  });
});

test.runIf(process.platform === "linux")("a row without an end is refused", async () => {
  const ran = await server.cli(["kb", "tag", "create", "--each", "/dev/zero"]);
  expect(ran).toMatchObject({
    exit: 2,
    out: "",
    err: "error: /dev/zero line 1: row longer than 8 MiB\n",
  });
});

test.each([
  ["a small file", ""],
  ["a file of more than a megabyte", "\n".repeat(2 ** 20)],
])("%s that changes once it was read is sent as it was", async (_, blank) => {
  const folder = await temporaryDirectory();
  const path = join(folder, "rows.csv");
  await writeFile(path, `name\nbefore ${blank.length}\n${blank}`);
  const bytes: Files["bytes"] = async function* (at) {
    yield* diskFiles.bytes(at);
    await writeFile(path, "name\nafter\n");
  };
  const argv = ["kb", "tag", "create", "--each", path, "-o", "jsonl"];
  const ran = await server.cli(argv, { folder, files: { bytes } });
  expect(ran.exit, ran.err).toBe(0);
  expect(JSON.parse(ran.out)).toMatchObject({ name: `before ${blank.length}`, status: "ok" });
  expect(await readFile(path, "utf8")).toBe("name\nafter\n");
});

test("rows keep the line ends that they have, also in a file with several kinds", async () => {
  const text = 'name,tag\n1,\r\r\n"x\r\ny",2\r\nz,\n';
  const { rows, withOnly } = await readRowFile("rows.csv", Buffer.from(text));
  expect(rows.map(({ values }) => values)).toEqual([
    { name: "1", tag: "\r" },
    { name: "x\r\ny", tag: "2" },
    { name: "z", tag: "" },
  ]);
  expect(withOnly(rows)).toBe(text);
});
