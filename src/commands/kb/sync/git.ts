import { CliError } from "../../../errors.ts";
import { documentPath } from "./local-files.ts";
import type { Context } from "../../command-spec.ts";

/** What git tracks as a plain file; links (120000) and other repositories (160000) are none. */
const plainFile = /^100\d{3} [^\t]*\t(.*)$/s;

/** Bytes that git may write: names of files. */
const most = 256 * 2 ** 20;

/** Programs that git starts by itself. */
const untrusted = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/** Settings that name programs of a repository: git runs them, and it may be a stranger's. */
const programs =
  /^(filter\..*\.(clean|smudge|process|required)|core\.(fsmonitor|hookspath|sshcommand))$/is;

/** Names of files that differ; what other repositories inside hold is not looked at. */
const diff = [
  "diff",
  "--no-ext-diff",
  "--no-textconv",
  "--ignore-submodules=all",
  "--name-only",
  "--relative",
  "-z",
];

/** Settings without a value for git, as the environment carries them: their names may hold any sign. */
const emptied = (names: readonly string[]) => ({
  GIT_CONFIG_COUNT: String(names.length),
  ...Object.fromEntries(
    names.flatMap((name, at) => [
      [`GIT_CONFIG_KEY_${at}`, name],
      [`GIT_CONFIG_VALUE_${at}`, ""],
    ]),
  ),
});

/**
 * Paths below a directory of which git knows that they hold what they held at a revision. New files,
 * links, what lies behind links and in other repositories are not among them. Throws usage.
 */
export async function unchangedSince(
  revision: string,
  directory: string,
  { host, signal, abortError: interrupted }: Context,
): Promise<ReadonlySet<string>> {
  // Nothing is fetched either: a remote may be a program.
  let env: Record<string, string | undefined> = { GIT_ALLOW_PROTOCOL: "none" };
  const git = async (...args: readonly string[]): Promise<string[]> => {
    const child = host.spawn("git", [...untrusted, "-C", directory, ...args], {
      env,
      collect: most,
      signal,
    });
    const exit = await child.exit.catch(() => 127);
    if (signal.aborted) throw interrupted();
    if (exit !== 0) {
      throw new CliError("usage", `--since ${JSON.stringify(revision)}: git says no (${exit})`, {
        sideEffect: "none",
        hint: "the directory must be in a git repository that has this revision",
      });
    }
    return (await child.output).split("\0").filter((path) => path !== "");
  };
  const all = await git("config", "--list", "--name-only", "-z");
  env = { ...env, ...emptied(all.filter((name) => programs.test(name))) };
  await git("rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`);
  const tracked = await git("ls-files", "--stage", "-z", "--", ".");
  const changed = new Set(await git(...diff, revision, "--", "."));
  return new Set(
    tracked.flatMap((line) => {
      const path = plainFile.exec(line)?.[1];
      return path === undefined || changed.has(path) ? [] : [documentPath(path, undefined)];
    }),
  );
}
