import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { diskFiles } from "../../src/host/node-files.ts";
import { temporaryDirectory } from "../lib/support.ts";

/** A file of another program, and a link to it in the place of its own one. */
async function planted() {
  const folder = await temporaryDirectory();
  const [other, link] = [join(folder, "other"), join(folder, "link")];
  await writeFile(other, "theirs");
  await symlink(other, link);
  return { folder, link, other: () => readFile(other, "utf8") };
}

test.skipIf(process.platform === "win32").each([
  ["a journal is not appended", (link: string) => diskFiles.append(link, "x", 0o600)],
  ["a part is not truncated", (link: string) => diskFiles.truncate(link, 0)],
])("%s through a link", async (_, work) => {
  const { link, other } = await planted();
  await expect(work(link)).rejects.toMatchObject({ code: "ELOOP", path: link });
  expect(await other()).toBe("theirs");
});

test("a copy takes the place of a link", async () => {
  const { folder, link, other } = await planted();
  await writeFile(join(folder, "source"), "ours");
  await diskFiles.copy(join(folder, "source"), link);
  expect([await readFile(link, "utf8"), await other()]).toEqual(["ours", "theirs"]);
});

test("a file that the user names may be a link", async () => {
  const { link, other } = await planted();
  await diskFiles.append(link, "+x");
  expect(await other()).toBe("theirs+x");
});
