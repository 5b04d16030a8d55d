/** Flags of a command in a hint: true for a flag without a value, a list for a repeated one. */
type HintFlags = Readonly<Record<string, string | true | readonly string[] | undefined>>;

/**
 * A command as hints show it, in backticks and quoted for a shell:
 * `commandLine("wf form submit", [token], { action: "approve", input: ["comment=looks fine"] })`.
 * Flags are named in kebab case without dashes. Where the hint is printed, `-p`, `--app` and
 * `--base-url` of the current command line are added.
 */
export function commandLine(
  command: string,
  args: readonly string[] = [],
  flags: HintFlags = {},
): string {
  const words = Object.entries(flags).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const dashed = name.length === 1 ? `-${name}` : `--${name}`;
    if (value === true) return [dashed];
    const values = typeof value === "string" ? [value] : value;
    return values.flatMap((each) => [dashed, each]);
  });
  // After --, a name such as -draft.md is an argument.
  const rest = args.some((word) => word.startsWith("-"))
    ? [...words, "--", ...args]
    : [...args, ...words];
  return shownLine([...command.split(" "), ...rest]);
}

/** A word for a POSIX shell, quoted only where it must be: `it's` → `'it'\''s'`. */
export const shellQuote = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** All words of a command line as hints show it, in backticks and quoted for a shell. */
export const shownLine = (words: readonly string[]): string =>
  `\`${words.map(shellQuote).join(" ")}\``;

/**
 * Replaces the words of each command that `commandLine` has put into a text. A command whose words
 * `change` returns as they are stays as it is.
 */
export const mapCommands = (
  text: string,
  change: (words: readonly string[]) => readonly string[],
): string =>
  replaceCommands(text, (words) => {
    const changed = change(words);
    return changed === words ? undefined : shownLine(changed);
  });

/** Replaces each such command with a text of its own; one without a text stays as it is. */
export const replaceCommands = (
  text: string,
  textFor: (words: readonly string[]) => string | undefined,
): string =>
  text.replace(shownCommand, (shown, line: string) => {
    const words = [...line.matchAll(shellWord)].map(([word]) => unquoted(word));
    return textFor(words) ?? shown;
  });

/** A word as shellQuote writes it: `it's` is `'it'\''s'`. */
const shellWord = /(?:'[^']*'|\\.|[^\s'`\\])+/g;
const shownCommand = new RegExp(`\`((?:kb|wf)(?: ${shellWord.source})*)\``, "g");

const unquoted = (word: string) =>
  word.replace(
    /'([^']*)'|\\(.)/g,
    (_, quoted?: string, escaped?: string) => quoted ?? escaped ?? "",
  );
