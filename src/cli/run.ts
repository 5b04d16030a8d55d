import type { Host, RawHost } from "../host/host.ts";
import { CliError, diskProblem, lastLine } from "../errors.ts";
import { withWrite } from "../output/style.ts";
import { visible, wrapMessage } from "../output/display-width.ts";
import { newSecrets, withoutKeys } from "../redact/keys.ts";
import { versionLine } from "../lib/version.ts";
import { printError, scopeIn, toCliError, withScope } from "./errors/error-text.ts";
import { lineError, requireNoVerb, unknownWord } from "./errors/line-error.ts";
import { commandsOf, isFirstWord } from "./parse/command-list.ts";
import { takesEach } from "./parse/shared-flags.ts";
import type { Globals } from "./parse/shared-flags.ts";
import { commandsBelow, isAlias } from "./parse/command.ts";
import type { Command } from "./parse/command.ts";
import { parseLine } from "./parse/parser.ts";
import { emptyRequestLog } from "./trace/request-log.ts";
import type { RequestLog } from "./trace/request-log.ts";

interface Reported {
  /** Undefined until the command line is parsed. */
  globals?: Globals;
  readonly requests: RequestLog;
}

/**
 * Runs a command line (`["kb", "create", "Handbook"]`) and returns the exit code. Never throws, never
 * exits the process.
 */
export async function run(argv: readonly string[], rawHost: RawHost): Promise<number> {
  const host = withRedaction(rawHost);
  const reported: Reported = { requests: emptyRequestLog() };
  try {
    await runLine(argv, host, reported);
    return 0;
  } catch (error) {
    return report(error, argv, host, reported).catch(async () => {
      // Without descriptors, not even the code for errors can be loaded.
      await host.stderr.write(lastLine(error));
      return error instanceof CliError ? error.exit : 1;
    });
  }
}

async function report(
  error: unknown,
  argv: readonly string[],
  host: Host,
  { globals, requests }: Reported,
): Promise<number> {
  const failure = await withScope(toCliError(error, Object.values(host.directories)), {
    globals: globals ?? scopeIn(argv),
    names: requests.names,
  });
  await printError(failure, { argv, globals: globals ?? {} }, requests, host);
  // The error of a wrong command line needs no report.
  if (requests.count > 0 || failure.info.code === "bug") {
    const { logError } = await parts.execute();
    await logError(failure, argv, requests, host);
  }
  return failure.exit;
}

/** What a line may end without, or does not need: together 40 ms. */
const parts = {
  help: () => import("./help/topic.ts"),
  complete: () => import("./complete/complete.ts"),
  batch: () => import("./batch/batch.ts"),
  execute: () => import("./execute/execute.ts"),
};

async function runLine(argv: readonly string[], host: Host, reported: Reported): Promise<void> {
  const program = argv[0] === "wf" ? "wf" : "kb";
  if (isUnknown(argv, program)) throw await unknownWord(argv, host);
  const commands = await commandsOf(program, argv[1]);
  if (argv[1] === "help") return (await parts.help()).showHelpTopic(argv, commands, host);
  if (argv[1] === "--licenses") return host.stdout.write(host.builtFile("LICENSES.txt"));
  if (argv[1] === "__complete") {
    const { completions } = await parts.complete();
    const typed = argv.slice(argv[2] === "--" ? 3 : 2);
    return host.stdout.write(await completions(program, typed, commands, host));
  }
  const batch = hasEachFlag(argv) ? await parts.batch() : undefined;
  const parsed = parseLine(argv, batch?.overRows(commands) ?? commands);
  if (parsed.kind === "version") {
    return host.stdout.write(versionLine(program, host.platform));
  }
  if (parsed.kind === "help") return (await parts.help()).showHelp(program, parsed, commands, host);
  if (parsed.kind === "invalid") throw await lineError(parsed.problem, host);
  await requireMeant(parsed, commands, host);
  reported.globals = parsed.globals;
  // Some tasks have a flag --each of their own.
  const execute =
    batch && takesEach(parsed.command) ? batch.executeBatch : (await parts.execute()).execute;
  await execute(parsed, { ...host, prompt: sanitizedPrompt(host) }, reported.requests);
}

/** Is the first word that of no command? Without the commands: all of them would be loaded. */
function isUnknown([, word = "", ...rest]: readonly string[], program: "kb" | "wf"): boolean {
  const isOther = !/^[a-z]/i.test(word) || word === "help" || isAlias(word);
  return (
    !isOther && !isFirstWord(program, word) && !rest.some((each) => /^(-V|--version)$/.test(each))
  );
}

/** Throws usage for `kb backup rm`, which would back up to a directory `rm`, and for `wf run list`. */
async function requireMeant(
  {
    command,
    typed,
  }: { readonly command: Command; readonly typed: Readonly<Record<string, unknown>> },
  commands: readonly Command[],
  host: Host,
): Promise<void> {
  const { words: group, positionals, params } = command;
  const [name = ""] = positionals.map((each) => each.name);
  const [word] = [typed[name]].flat();
  if (typeof word !== "string") return;
  const known = commandsBelow(group, commands).flatMap(({ words }) => words[group.length] ?? []);
  const mayBeWord = known.length > 0 && params[name]?.kind === "text";
  const lacksName = params[name]?.placeholder === "name=value" && !word.includes("=");
  if (!mayBeWord && !lacksName) return;
  const [, ...others] = positionals.flatMap((each) => typed[each.name] ?? []);
  const rest = others.filter((each) => typeof each === "string");
  await requireNoVerb({ word, group, known, rest }, host);
}

/** Is there a flag --each? Words after `--` are arguments. */
function hasEachFlag(argv: readonly string[]): boolean {
  const first = argv.find((word) => word === "--" || /^--each(=|$)/.test(word));
  return first !== undefined && first !== "--";
}

/** Prompts contain names from the server: control characters in them are made visible. */
const sanitizedPrompt =
  (host: Host): Host["prompt"] =>
  (question, options) =>
    host.prompt(wrapMessage(visible(question), host.stderr.columns), options);

/** Wraps the host: redacts keys from stderr, ignores stderr write errors, explains stdin errors. */
function withRedaction(rawHost: RawHost): Host {
  const { stderr, stdin } = rawHost;
  const secrets = newSecrets(rawHost.env);
  return {
    ...rawHost,
    secrets,
    stderr: withWrite(stderr, (text) =>
      stderr.write(typeof text === "string" ? secrets.masked(text) : text).catch(() => {}),
    ),
    spawn: (command, args, { env, ...rest } = {}) =>
      rawHost.spawn(command, args, { ...rest, env: { ...withoutKeys(rawHost.env), ...env } }),
    stdin: {
      get isTTY() {
        return stdin.isTTY;
      },
      bytes: () => explainedReads(stdin.bytes()),
    },
  };
}

async function* explainedReads(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (cause) {
    const problem = diskProblem(cause);
    if (!problem) throw cause;
    throw new CliError(problem.kind, `failed to read stdin: ${problem.reason}`, { cause });
  }
}
