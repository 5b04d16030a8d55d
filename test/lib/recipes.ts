import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "./support.ts";
import { root } from "./paths.ts";

/** Directory of the recipes for CI systems. */
export const folder = join(root, "examples", "ci");
/** Reads a recipe. */
export const recipe = (name: string) => readFileSync(join(folder, name), "utf8");

/**
 * Runs a script against a sandbox of its own, in a copy of the examples; `-ec` stops at the first failure.
 * `place` is an existing directory for both.
 */
export async function runInSandbox(
  script: string,
  flags: "-ec" | "-c" = "-ec",
  { place: given, env = {} }: { readonly place?: string; readonly env?: NodeJS.ProcessEnv } = {},
) {
  const place = given ?? (await temporaryDirectory());
  cpSync(join(root, "examples"), join(place, "examples"), { recursive: true });
  const child = spawn(
    process.execPath,
    [join(root, "bin", "kb.js"), "sandbox", "--ephemeral", "--", "sh", flags, script],
    { cwd: place, env: { PATH: process.env["PATH"], HOME: place, ...env } },
  );
  let out = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const [exit] = (await once(child, "close")) as [number | null];
  return { exit, out };
}

/** Creates the knowledge base that the recipes and the pages sync. */
export const create = "kb create Handbook --indexing-technique economy -o name";
