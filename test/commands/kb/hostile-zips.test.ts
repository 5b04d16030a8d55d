import { createServer } from "node:http";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { unzip } from "../../../src/lib/formats/unzip.ts";
import { CliError } from "../../../src/errors.ts";
import { rareTest } from "../../lib/sampled.ts";
import { testSandbox } from "../../lib/sandbox.ts";
import { cli, temporaryDirectory } from "../../lib/support.ts";
import { bad, good, zipWith } from "../../lib/zips.ts";
import { listening } from "../../lib/listening.ts";

// Document contents come as a ZIP from the server, which is not trusted.

async function* inPieces(bytes: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function textsIn(zip: Buffer, length: number): Promise<string[]> {
  const texts: string[] = [];
  for await (const bytes of unzip(inPieces(zip, length))) texts.push(Buffer.from(bytes).toString());
  return texts;
}

const lengths = [1, 7, 65_536];

test.each(good)("a valid ZIP is read: %s", async (_, zip, texts) => {
  for (const length of lengths) expect(await textsIn(zip, length)).toEqual(texts);
});

test.each(bad)("an invalid ZIP is rejected: %s", async (_, zip, message) => {
  for (const length of lengths) {
    const error = await textsIn(zip, length).then(
      (texts) => texts.length,
      (cause: unknown) => cause,
    );
    expect(error).toBeInstanceOf(CliError);
    expect(error).toMatchObject({ kind: "failure", message: expect.stringMatching(message) });
  }
});

test("a stored file is called too large once so much of it came", async () => {
  const head = zipWith([{ text: "", inside: 2e9, length: 2e9 }]).subarray(0, 30 + 4);
  async function* all() {
    yield head;
    for (const mebibyte = Buffer.alloc(2 ** 20); ;) yield mebibyte;
  }
  await expect(unzip(all()).next()).rejects.toMatchObject({
    kind: "failure",
    message: "a file in the ZIP is larger than 256 MiB",
  });
});

rareTest("a ZIP truncated after any byte is rejected", async () => {
  for (const [, zip] of good.filter(([, { length }]) => length < 2000)) {
    for (let cut = 0; cut < zip.length; cut++) {
      const error = await textsIn(zip.subarray(0, cut), 16).catch((cause: unknown) => cause);
      expect(error, String(cut)).toMatchObject({ kind: "failure" });
    }
  }
});

test("a ZIP with any byte changed gives the same files or is rejected", async () => {
  const zip = zipWith([{ text: "one" }, { text: "two two two", packed: true }]);
  for (let at = 0; at < zip.length; at++) {
    for (const change of [0x01, 0x80, 0xff]) {
      const other = Buffer.from(zip);
      other[at] = (other[at] ?? 0) ^ change;
      const found = await textsIn(other, 64).catch((cause: unknown) => cause);
      if (Array.isArray(found)) expect(found, `${at}`).toEqual(["one", "two two two"]);
      else expect(found, `${at}`).toMatchObject({ kind: "failure" });
    }
  }
});

/** A proxy for the sandbox that answers requests for a ZIP with its own. */
async function zipServer() {
  const server = await testSandbox();
  await server.cli(["kb", "create", "Docs", "--indexing-technique", "economy"]);
  for (const name of ["1.md", "2.md"])
    await server.cli(["kb", "doc", "add", "Docs", name, "--text", name]);
  const set: { zip: Buffer } = { zip: Buffer.alloc(0) };
  const before = createServer(async (asked, answer) => {
    if (asked.url?.endsWith("/download-zip")) {
      asked.resume();
      answer.writeHead(200, { "content-type": "application/zip" }).end(set.zip);
      return;
    }
    const passed = await fetch(`${server.sandbox.origin}${asked.url}`, {
      headers: { authorization: asked.headers.authorization ?? "" },
    });
    answer.writeHead(passed.status, { "content-type": "application/json" });
    answer.end(Buffer.from(await passed.arrayBuffer()));
  });
  const baseUrl = await listening(before);
  const env = { ...server.env, KB_BASE_URL: baseUrl };
  return { set, env };
}

rareTest("no ZIP writes outside the directory, or any other file than requested", async () => {
  const { set, env } = await zipServer();
  const some = bad.filter((_, index) => index % 3 === 0);
  const three = [{ text: "one" }, { text: "two" }, { text: "three" }];
  const all: readonly (readonly [string, Buffer, RegExp | undefined])[] = [
    ...good.slice(5, 9).map(([what, zip]) => [what, zip, undefined] as const),
    ...some,
    // Each document is then downloaded alone.
    ["fewer files", zipWith(three.slice(0, 1)), undefined],
    ["more files", zipWith(three), /more than 2 files/],
  ];
  for (const [what, zip, said] of all) {
    set.zip = zip;
    const around = await temporaryDirectory();
    const folder = join(around, "in", "side");
    for (const line of [
      ["kb", "doc", "download", "Docs", "1.md", "2.md", "--dir", join(folder, "down")],
      ["kb", "export", "Docs", join(folder, "export")],
    ]) {
      const { exit, err } = await cli(line, { env });
      expect(exit, `${what}: ${line.join(" ")}: ${err}`).toBe(said ? 1 : 0);
      expect(err, what).toMatch(said ?? /^(?!.*internal error)/s);
    }
    const written = await readdir(around, { recursive: true });
    for (const name of written.filter((each) => each.endsWith(".md"))) {
      expect(name, what).toMatch(/^in\/side\/(down|export\/documents)\/[12]\.md$/);
      const text = await readFile(join(around, name), "utf8");
      const texts = good.find(([title]) => title === what)?.[2] ?? ["one", "two"];
      expect(texts, `${what}: ${name}`).toContain(text);
    }
    expect(
      written.filter((name) => /outside|\.tmp$/.test(name)),
      what,
    ).toEqual([]);
  }
});
