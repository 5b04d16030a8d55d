import { describe, expect, test } from "vitest";
import { testSandbox } from "../lib/sandbox.ts";

const server = await testSandbox();

describe("more rows than are held", () => {
  const limit = "more than 128 MiB or 1000000 lines of rows";

  test.each([
    ["short rows", new TextEncoder().encode("a\n".repeat(32_768))],
    ["a row without an end", new Uint8Array(2 ** 20).fill(97)],
  ])("%s from a stream without an end: nothing is sent, and reading stops", async (_, chunk) => {
    let read = 0;
    async function* endless() {
      yield new TextEncoder().encode("name\n");
      for (; ; read += chunk.length) yield chunk;
    }
    const ran = await server.cli(["kb", "tag", "create", "--each", "-"], {
      around: (host) => ({ ...host, stdin: { isTTY: false, bytes: endless } }),
    });
    expect(ran).toEqual({
      exit: 2,
      out: "",
      err: `error: stdin has ${limit}\nhint: divide the rows into several files\n`,
    });
    expect(read).toBeLessThan(2 ** 27 + 2 ** 21);
  });

  test.runIf(process.platform === "linux")("a file without an end", async () => {
    const ran = await server.cli(["kb", "tag", "create", "--each", "/dev/zero"]);
    expect(ran).toMatchObject({ exit: 2, out: "" });
    expect(ran.err).toContain(`/dev/zero has ${limit}`);
  });
});
