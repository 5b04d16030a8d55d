import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { TestSandbox } from "./sandbox.ts";

/** Values to put in place of a part of a manifest; undefined removes the part. */
const replacements: readonly unknown[] = [
  undefined,
  null,
  true,
  7,
  -1.5,
  "",
  "../../secret.txt",
  "/etc/passwd",
  "__proto__",
  [],
  [null],
  {},
  { __proto__: null, constructor: 1 },
];

/** Paths of all parts of a value. */
export function pathsIn(value: unknown, before: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [
    [...before, key],
    ...pathsIn(part, [...before, key]),
  ]);
}

/** A copy with one part replaced. */
function changed(value: unknown, [step = "", ...rest]: readonly string[], to: unknown): unknown {
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value)
    ? [...(value as unknown[])]
    : { ...(value as Record<string, unknown>) };
  const fields = copy as Record<string, unknown>; // a list is indexed by its digits like an object
  if (rest.length > 0) fields[step] = changed(fields[step], rest, to);
  else if (to === undefined) delete fields[step];
  else fields[step] = to;
  return copy;
}

/**
 * Replaces parts of the manifest of an export, with a valid checksum, and runs the commands that read it.
 * Each must succeed or reject it, without an internal error and without exposing local files.
 */
export async function tamperWith(
  server: TestSandbox,
  home: string,
  directory: string,
  pick: (path: readonly string[], at: number) => boolean,
): Promise<number> {
  const file = join(directory, "manifest.json");
  const original = await readFile(file, "utf8");
  const { sum: _, ...manifest } = JSON.parse(original) as Record<string, unknown>;
  let tried = 0;
  for (const path of pathsIn(manifest)) {
    for (const [at, to] of replacements.entries()) {
      if (!pick(path, at)) continue;
      tried++;
      const forged = changed(manifest, path, to) as Record<string, unknown>;
      const sum = createHash("sha256").update(JSON.stringify(forged)).digest("hex");
      await writeFile(file, JSON.stringify({ ...forged, sum }));
      const { id } = manifest["source"] as { id: string };
      for (const command of [
        ["import", directory, "--name", `Forged ${tried}`],
        ["verify", directory, `id:${id}`],
      ]) {
        const ran = await server.cli(["kb", ...command], { folder: home });
        const info = `${path.join(".")} = ${JSON.stringify(to)}: ${command[0]}: ${ran.err}`;
        expect(ran.err, info).not.toContain("internal error:");
        expect([0, 2, 3, 5, 10, 14], info).toContain(ran.exit);
        expect(ran.out + ran.err, info).not.toMatch(/root:|TOP SECRET/);
      }
    }
  }
  await writeFile(file, original);
  return tried;
}
