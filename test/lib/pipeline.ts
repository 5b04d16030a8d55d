import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runInSandbox } from "./recipes.ts";
import { temporaryDirectory } from "./support.ts";

/** Variables of a job. */
export type Variables = Readonly<Record<string, string>>;

/** Runs a script by bash with nothing but these variables; returns its exit code and output. */
export async function runScript(
  script: string,
  cwd: string,
  env: Variables,
  flags: readonly string[] = ["--noprofile", "--norc", "-eo", "pipefail"],
) {
  const child = spawn("bash", [...flags, "-c", script], { cwd, env: { HOME: cwd, ...env } });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const [exit] = (await once(child, "close")) as [number | null];
  return { exit, output };
}

/** A directory with stand-ins for programs in `bin`; each appends its arguments to `NAME.txt`. */
export async function pipelineDirectory(
  programs: Readonly<Record<string, string>>,
): Promise<string> {
  const place = await temporaryDirectory();
  await mkdir(join(place, "bin"));
  for (const [name, script] of Object.entries({ npm: "true", ...programs })) {
    const path = join(place, "bin", name);
    await writeFile(path, `#!/bin/sh\necho "$@" >> "${place}/${name}.txt"\n${script}\n`);
    await chmod(path, 0o755);
  }
  return place;
}

/** A script of a job. */
export interface PipelineScript {
  readonly script: string;
  /** Key of the application that it tests. */
  readonly key: string;
}

/** Runs scripts by bash in one sandbox, whether or not one fails; returns the exit code of each. */
export async function runPipeline(
  place: string,
  scripts: readonly PipelineScript[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly out: string; readonly exits: readonly number[] }> {
  const lines = await Promise.all(
    scripts.map(async ({ script, key }, index) => {
      await writeFile(join(place, `step-${index}.sh`), script);
      return `KB_APP_KEY=${key} bash -e -o pipefail step-${index}.sh; echo "exit $?"`;
    }),
  );
  const set = 'export PATH="$PWD/bin:$PATH" KB_WF_PACKAGE=kb-wf.tgz';
  const { out } = await runInSandbox([set, ...lines].join("\n"), "-c", { place, env });
  return { out, exits: [...out.matchAll(/^exit (\d+)$/gm)].map(([, code]) => Number(code)) };
}
