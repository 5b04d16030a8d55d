import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import { temporaryDirectory } from "../lib/support.ts";

test("creates the directories above, and accepts those that exist", async () => {
  const path = join(await temporaryDirectory(), "a", "b", "c");
  await diskFiles.makeDirectory(path, 0o700);
  await diskFiles.makeDirectory(path, 0o700);
  expect((await stat(path)).mode & 0o777).toBe(0o700);
});

test("a file in the place of a directory is an error", async () => {
  const path = join(await temporaryDirectory(), "a");
  await writeFile(path, "");
  await expect(diskFiles.makeDirectory(path)).rejects.toMatchObject({ code: "EEXIST" });
  await expect(diskFiles.makeDirectory(join(path, "b"))).rejects.toMatchObject({ code: "ENOTDIR" });
});

test.runIf(process.platform === "linux")("a place where none can be created is an error", () =>
  expect(diskFiles.makeDirectory("/proc/nowhere/a/b")).rejects.toMatchObject({
    code: "ENOENT",
    path: "/proc/nowhere/a/b",
  }),
);
