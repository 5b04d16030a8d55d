import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli, temporaryDirectory } from "../lib/support.ts";
import type { World } from "../lib/support.ts";

const home = await temporaryDirectory();
await writeFile(join(home, "file"), "");
await symlink(join(home, "file"), join(home, "link"));
await mkdir(join(home, "folder"));

test.each(
  (["config", "state", "data", "cache"] as const).flatMap((name) =>
    (["file", "link", "folder", "none"] as const).map((place) => [name, place] as const),
  ),
)("the directory %s is a %s", async (name, place) => {
  const path = join(home, place);
  const around: World["around"] = (host) => ({
    ...host,
    directories: { ...host.directories, [name]: path },
  });
  const ran = await cli(["kb", "profile", "list"], { around });
  const isFile = place === "file" || place === "link";
  // Journals, records and caches are skipped where they cannot be written.
  if (!isFile || name !== "config") return expect(ran.err).not.toContain("directory");
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toBe(
    `error: ${path}: not a directory\nhint: set KB_CONFIG_DIR to a directory, or move the file away\n`,
  );
});
