import { createHash } from "node:crypto";
import { execFile } from "node:child_process";
import { mkdir, readFile, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../lib/support.ts";

const script = join(import.meta.dirname, "../../scripts/release/install.sh");
const system = process.arch === "arm64" ? "linux-arm64" : "linux-x64";

/** A release whose program is this script. */
async function release(program: string) {
  const from = await temporaryDirectory();
  const name = `kb-wf-1.2.3-${system}`;
  await writeFile(join(from, name), program);
  const sum = createHash("sha256").update(program).digest("hex");
  await writeFile(join(from, "SHA256SUMS"), `${sum}  ${name}\n`);
  return from;
}

const install = (from: string, to: string) =>
  promisify(execFile)("sh", [script, "--from", from, "--to", to]).then(
    ({ stdout }) => ({ code: 0, text: stdout }),
    (error: { code: number; stderr: string }) => ({ code: error.code, text: error.stderr }),
  );

const works = '#!/bin/sh\necho "$(basename "$0") 1.2.3"\n';
const onlyKb = '#!/bin/sh\n[ "$(basename "$0")" = kb ] && echo "kb 1.2.3"\n';

test("a program that runs is installed, and no link in its place is followed", async () => {
  const to = await temporaryDirectory();
  await writeFile(join(to, "mine"), "mine");
  for (const name of [".kb.new", "kb", "wf"]) await symlink("mine", join(to, name));
  const ran = await install(await release(works), to);
  expect(ran, ran.text).toMatchObject({ code: 0 });
  expect(ran.text).toContain(`installed 1.2.3 in ${to}\n`);
  expect(await readFile(join(to, "mine"), "utf8")).toBe("mine");
  expect(await readFile(join(to, "wf"), "utf8")).toBe(works);
  expect((await readdir(to)).toSorted()).toEqual([".kb.new", "kb", "mine", "wf"]);
});

test.each([
  ["kb that does not run", "#!/bin/sh\nexit 3\n", "kb of the release does not run here"],
  ["wf that does not run", onlyKb, "wf of the release does not run here"],
])("nothing is replaced by a %s", async (_, program, words) => {
  const to = await temporaryDirectory();
  await writeFile(join(to, "kb"), "old");
  const ran = await install(await release(program), to);
  expect(ran).toMatchObject({ code: 1 });
  expect(ran.text).toContain(words);
  expect(await readFile(join(to, "kb"), "utf8")).toBe("old");
  expect(await readdir(to)).toEqual(["kb"]);
});

test.each(["kb", "wf"])("a directory %s is refused", async (name) => {
  const to = await temporaryDirectory();
  await mkdir(join(to, name));
  const ran = await install(await release(works), to);
  expect(ran).toMatchObject({ code: 1 });
  expect(ran.text).toContain(`${join(to, name)} is a directory; nothing was installed`);
  expect(await readdir(to)).toEqual([name]);
});
