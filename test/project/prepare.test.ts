/** What `npm start` and `npm test` do first in a clone. */
import { spawnSync } from "node:child_process";
import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../lib/paths.ts";
import { temporaryDirectory } from "../lib/support.ts";

test("an npm that exits with 0 without installing anything is an error", async () => {
  const clone = await temporaryDirectory();
  await mkdir(join(clone, "scripts"));
  await mkdir(join(clone, "bin"));
  await copyFile(join(root, "scripts", "prepare.mjs"), join(clone, "scripts", "prepare.mjs"));
  await writeFile(join(clone, "package-lock.json"), "{}\n");
  const npm = join(clone, "bin", "npm");
  await writeFile(npm, '#!/bin/sh\necho "npm error Exit handler never called!" >&2\n');
  await chmod(npm, 0o755);
  const run = 'import("./scripts/prepare.mjs").then(({ prepare }) => prepare())';
  const { status, stderr } = spawnSync(process.execPath, ["-e", run], {
    cwd: clone,
    env: { ...process.env, PATH: `${join(clone, "bin")}${delimiter}${process.env["PATH"]}` },
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: `Installing…
npm error Exit handler never called!
npm exited with 0, but did not make ${join(clone, "node_modules", ".package-lock.json")}
`,
  });
});
