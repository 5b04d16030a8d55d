import { CliError } from "../errors.ts";
import { documentPath } from "./sync-files.ts";
import type { Context } from "./task.ts";

/** What git tracks as a plain file; links (120000) and other repositories (160000) are none. */
const plainFile = /^100\d{3} [^\t]*\t(.*)$/s;

/**
 * Paths below a directory of which git knows that they hold what they held at a revision. New files,
 * links, what lies behind links and in other repositories are not among them. Throws usage.
 */
export async function unchangedSince(
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
  const tracked = await git("ls-files", "--stage", "-z", "--", ".");
  const changed = new Set(
    await git("diff", "--name-only", "--relative", "-z", revision, "--", "."),
  );
  return new Set(
    tracked.flatMap((line) => {
      const path = plainFile.exec(line)?.[1];
      return path === undefined || changed.has(path) ? [] : [documentPath(path, undefined)];
    }),
  );
}
