import { CliError } from "../errors.ts";
import { documentPath } from "./sync-files.ts";
import type { Context } from "./task.ts";

/** Paths below a directory that differ from a revision, new ones included. Throws usage. */
export async function changedSince(
  revision: string,
  directory: string,
  { host }: Context,
): Promise<ReadonlySet<string>> {
  const git = async (...args: readonly string[]): Promise<string[]> => {
    const child = host.spawn("git", ["-C", directory, ...args], { env: host.env, collect: true });
    const exit = await child.exit.catch(() => 127);
    if (exit !== 0) {
      throw new CliError("usage", `--since ${JSON.stringify(revision)}: git says no (${exit})`, {
        changed: "nothing",
        hint: "the directory must be in a git repository that has this revision",
      });
    }
    return (await child.output).split("\0").filter((path) => path !== "");
  };
  await git("rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`);
  const changed = [
    ...(await git("diff", "--name-only", "--relative", "-z", revision, "--", ".")),
    ...(await git("ls-files", "--others", "-z", "--", ".")),
  ];
  return new Set(changed.map((path) => documentPath(path, undefined)));
}
