import { dirname, join } from "node:path";
import { usage } from "../../../errors.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import type { skillParams } from "./command.ts";
import skill from "./SKILL.md?raw";
import commands from "./references/commands.md?raw";
import exitCodes from "./references/exit-codes.md?raw";
import jobs from "./references/jobs.md?raw";
import patterns from "./references/patterns.md?raw";

/** Name of the skill, which is also the name of its directory: agents expect them to be equal. */
const NAME = "kb-wf";

const pages: Readonly<Record<string, string>> = {
  "SKILL.md": skill,
  "references/commands.md": commands,
  "references/exit-codes.md": exitCodes,
  "references/jobs.md": jobs,
  "references/patterns.md": patterns,
};

/** Writes the skill. Throws `usage`, before anything is written, for a file with other content. */
export async function* run(
  { directory, overwrite = false }: Input<typeof skillParams>,
  { host: { files }, summary }: Context,
): AsyncGenerator<{ file: string; action: "written" | "unchanged" }> {
  const targets = await Promise.all(
    Object.entries(pages).map(async ([name, text]) => {
      const file = join(directory, NAME, name);
      const stat = await files.stat(file);
      const present = stat === null ? undefined : new TextDecoder().decode(await files.read(file));
      return { file, text, present };
    }),
  );
  const other = targets.find(({ present, text }) => present !== undefined && present !== text);
  if (other && !overwrite)
    throw usage(`${other.file} already exists with other content`, "add --overwrite to replace it");
  for (const { file, text, present } of targets) {
    if (present !== text) {
      await files.makeDirectory(dirname(file));
      await files.writeAtomic(file, text);
    }
    yield { file, action: present === text ? "unchanged" : "written" };
  }
  summary(`the skill is in ${join(directory, NAME)}`);
}
