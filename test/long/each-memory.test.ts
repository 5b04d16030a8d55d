import { expect, test } from "vitest";
import { shell } from "../lib/shell.ts";
import { temporaryDirectory } from "../lib/support.ts";

test("a gigabyte of one row on stdin ends with 2, in a heap of 48 MB", async () => {
  const env = {
    HOME: await temporaryDirectory(),
    KB_BASE_URL: "http://127.0.0.1:1/v1",
    KB_KEY: "dataset-x",
    NODE_OPTIONS: "--max-old-space-size=48",
  };
  const ran = await shell("head -c 1000000000 /dev/zero | kb tag create --each -", env).ended;
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain("stdin has more than 128 MiB or 1000000 lines of rows");
});
