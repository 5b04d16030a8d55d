import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { TestSandbox } from "./sandbox.ts";

/** What takes the place of a part of a manifest; undefined takes the part away. */
const others: readonly unknown[] = [
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

/** Every way to the parts of a value. */
export function waysIn(value: unknown, before: readonly string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, part]) => [
    [...before, key],
    ...waysIn(part, [...before, key]),
  ]);
}

/** A copy in which one part is another one. */
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
 * Changes one part of the manifest of an export, with a sum that fits, and lets every command that
 * reads it do so. Each of them works or refuses; none is at a loss, and nothing of this machine comes out.
 */
export async function tampered(
  server: TestSandbox,
  home: string,
  folder: string,
  pick: (way: readonly string[], at: number) => boolean,
): Promise<number> {
  const path = join(folder, "manifest.json");
  const whole = await readFile(path, "utf8");
  const { sum: _, ...manifest } = JSON.parse(whole) as Record<string, unknown>;
  let tried = 0;
  for (const way of waysIn(manifest)) {
    for (const [at, to] of others.entries()) {
      if (!pick(way, at)) continue;
      tried++;
      const forged = changed(manifest, way, to) as Record<string, unknown>;
      const sum = createHash("sha256").update(JSON.stringify(forged)).digest("hex");
      await writeFile(path, JSON.stringify({ ...forged, sum }));
      const { id } = manifest["source"] as { id: string };
      for (const line of [
        ["import", folder, "--name", `Forged ${tried}`],
        ["verify", folder, `id:${id}`],
      ]) {
        const ran = await server.cli(["kb", ...line], { folder: home });
        const info = `${way.join(".")} = ${JSON.stringify(to)}: ${line[0]}: ${ran.err}`;
        expect(ran.err, info).not.toContain("internal error:");
        expect([0, 2, 3, 5, 10, 14], info).toContain(ran.exit);
        expect(ran.out + ran.err, info).not.toMatch(/root:|TOP SECRET/);
      }
    }
  }
  await writeFile(path, whole);
  return tried;
}
