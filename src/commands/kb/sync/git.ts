import { usage } from "../../../errors.ts";
import { documentPath } from "./local-files.ts";
import type { Context } from "../../command-spec.ts";

/** A tracked regular file in `ls-files --stage`; not a symlink (120000) or a submodule (160000). */
const regularFile = /^100\d{3} [^\t]*\t(.*)$/s;

/** Limit for the output of git, which is a list of file names. */
const MAX_OUTPUT_BYTES = 256 * 2 ** 20;

/** Turns off programs that git starts on its own. */
const noPrograms = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/** Settings that name programs to run; the repository may be untrusted. */
const programSettings =
  /^(filter\..*\.(clean|smudge|process|required)|core\.(fsmonitor|hookspath|sshcommand))$/is;

/** Lists names of files that differ, without looking into submodules. */
const diffNames = [
  "diff",
  "--no-ext-diff",
  "--no-textconv",
  "--ignore-submodules=all",
  "--name-only",
  "--relative",
  "-z",
];

/** Environment that overrides settings with an empty value; unlike -c it takes any name. */
const emptySettings = (names: readonly string[]) => ({
  GIT_CONFIG_COUNT: String(names.length),
  ...Object.fromEntries(
    names.flatMap((name, at) => [
      [`GIT_CONFIG_KEY_${at}`, name],
      [`GIT_CONFIG_VALUE_${at}`, ""],
    ]),
  ),
});

/**
 * Paths below a directory that git knows to be unchanged since a revision. New files, symlinks, and
 * files behind symlinks or in submodules are not among them. Throws usage.
 */
export async function unchangedSince(
  revision: string,
  directory: string,
  { host, signal, abortError }: Context,
): Promise<ReadonlySet<string>> {
  // No protocol is allowed, as a remote can name a program.
  let env: Record<string, string | undefined> = { GIT_ALLOW_PROTOCOL: "none" };
  const git = async (...args: readonly string[]): Promise<string[]> => {
    const child = host.spawn("git", [...noPrograms, "-C", directory, ...args], {
      env,
      collect: MAX_OUTPUT_BYTES,
      signal,
    });
    const exit = await child.exit.catch(() => 127);
    if (signal.aborted) throw abortError();
    if (exit !== 0) {
      const message = `invalid --since ${JSON.stringify(revision)}: git exited with code ${exit}`;
      throw usage(message, "the directory must be in a git repository that contains this revision");
    }
    return (await child.output).split("\0").filter((path) => path !== "");
  };
  const settings = await git("config", "--list", "--name-only", "-z");
  env = { ...env, ...emptySettings(settings.filter((name) => programSettings.test(name))) };
  await git("rev-parse", "--verify", "--quiet", "--end-of-options", `${revision}^{commit}`);
  const tracked = await git("ls-files", "--stage", "-z", "--", ".");
  const changed = new Set(await git(...diffNames, revision, "--", "."));
  return new Set(
    tracked.flatMap((entry) => {
      const path = regularFile.exec(entry)?.[1];
      return path === undefined || changed.has(path) ? [] : [documentPath(path, undefined)];
    }),
  );
}
