import type { RowLimit } from "../../api/pages.ts";
import type {
  CallScope,
  CallableCommand,
  CommandArgument,
  CommandCall,
  CommandResult,
  CommandRunner,
} from "../../commands/task/command-runner.ts";
import type { Context, EngineTools } from "../../commands/task/command-spec.ts";
import { settingsFor } from "../../config/settings.ts";
import { CliError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { inBatches } from "../../lib/collect.ts";
import { own, stringifyJson } from "../../lib/json.ts";
import { nowhere } from "../../output/style.ts";
import { toCliError, withScope } from "../errors/error-text.ts";
import { commandsOf } from "../parse/command-list.ts";
import { flagOf, isRequired, type Command } from "../parse/command.ts";
import { checkedLine, labelOf } from "../parse/input.ts";
import { optionsFor } from "../parse/options.ts";
import { parseLine } from "../parse/parser.ts";
import type { Globals } from "../parse/shared-flags.ts";
import type { TypedLine } from "../parse/values.ts";
import { withNamesIn } from "./command-texts.ts";
import { commandValues, withEnding, withSideEffect } from "./row-values.ts";
import { openSession, withTimeLimit } from "./session.ts";

/** Runs commands with the settings of the command line of another one. */
export function commandRunner(
  outer: Command,
  globals: Globals,
  host: Host,
): CommandRunner<Context> {
  const program = outer.words[0] === "wf" ? "wf" : "kb";
  let loaded: Promise<readonly Command[]> | undefined;
  const commands = () => (loaded ??= commandsOf(program));
  const open = (command: Command, scope: CallScope, rows?: RowLimit) => {
    const notices: string[] = [];
    const signal = AbortSignal.any([host.signal, scope.signal]);
    const options = optionsFor(nestedGlobals(globals, scope, rows), host);
    const quiet = { ...host, ...silent(notices), signal };
    // With -v, what commands say belongs to the log on stderr.
    const shown = options.verbosity > 0 ? { ...quiet, stderr: host.stderr } : quiet;
    const limit = withTimeLimit(shown, options.timeout);
    const { progress, permit } = scope;
    const session = openSession({ command, options, host: limit.host, progress, permit });
    const close = async () => {
      limit.stop();
      await session.close();
    };
    return { session, options, host: limit.host, notices, close };
  };
  return {
    list: async () => (await commands()).map(callable),
    async run(call, scope) {
      const command = (await commands()).find(({ words }) => isSame(words, call.command.words));
      if (!command) throw new Error(`unknown command ${call.command.words.join(" ")}`);
      return runOnce(command, call, open(command, scope, call.rows));
    },
    open(scope) {
      const { session, notices, close } = open(outer, scope);
      return { context: session.context, notices, close };
    },
    async settings() {
      const { readOnly, apps, app } = await settingsFor(globals, host, { key: outer.key });
      return { readOnly: readOnly.value === true, apps, app: app.value };
    },
    parse: async (words) => callOf(words, await commands()),
  };
}

/** No columns are requested, and commands run no others. */
const nested: EngineTools = {
  valueColumns: [],
  commands() {
    throw new Error("commands cannot be nested");
  },
};

type Opened = {
  readonly session: ReturnType<typeof openSession>;
  readonly options: ReturnType<typeof optionsFor>;
  readonly host: Host;
  readonly notices: readonly string[];
  close(): Promise<void>;
};

async function runOnce(
  command: Command,
  { values }: CommandCall,
  { session, options, host, notices, close }: Opened,
): Promise<CommandResult> {
  const yielded: unknown[] = [];
  const typed = typedOf(command, values);
  let error: CliError | undefined;
  let total: number | undefined;
  try {
    const { globals } = options;
    const { input, extra } = await checkedLine({ command, typed, globals }, host);
    await session.output();
    const { values: all, ending } = withEnding(
      commandValues({ session, input, extra, engine: nested }),
    );
    for await (const batch of inBatches(all)) for (const value of batch) yielded.push(value);
    total = ending().counter?.total;
    await session.printSummary();
  } catch (thrown) {
    const named = withNamesIn(thrown, command, typed);
    const failure = withArgumentNames(toCliError(withSideEffect(named, session)), command);
    error = await withScope(failure, { globals: {}, names: session.names });
  } finally {
    await close();
  }
  return { values: yielded, notices, total, error };
}

/** Flags of the outer line that its requests depend on, with those of a program that calls. */
const nestedGlobals = (
  globals: Globals,
  { app }: CallScope,
  rows: RowLimit | undefined,
): Globals => ({
  ...globals,
  ...(app !== undefined && { app }),
  ...(rows && { limit: String(rows.limit) }),
  ...(rows?.page !== undefined && { page: String(rows.page) }),
  output: "json",
  yes: true,
  mayPrompt: false,
});

/** Nothing reaches stdout; lines for stderr are collected. */
function silent(notices: string[]): Pick<Host, "stdout" | "stderr" | "stdin"> {
  const write = (text: string | Uint8Array) => {
    if (typeof text === "string") notices.push(text.trimEnd());
    return Promise.resolve();
  };
  return {
    stdout: nowhere,
    stderr: { ...nowhere, write },
    stdin: { isTTY: false, bytes: nothing },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

const isSame = (a: readonly string[], b: readonly string[]) => a.join(" ") === b.join(" ");

const callable = (command: Command): CallableCommand => ({
  ...command,
  isTool: command.task === undefined || command.task.tool !== undefined,
  arguments: argumentsOf(command),
});

const argumentsOf = (command: Command): readonly CommandArgument[] =>
  Object.entries(command.params)
    .filter(([name, { from }]) => from !== "user" && !command.task?.tool?.without?.includes(name))
    .map(([name, param]) => {
      const positional = command.positionals.find((each) => each.name === name);
      return {
        name: argumentName(command, name),
        param,
        // One that a terminal is asked for is optional only there.
        required: positional?.optional === false || isRequired(param),
        many: param.many === true || positional?.variadic === true,
      };
    });

/** `<kb>` → `kb`, `--top-k` → `top_k`, `<provider/model>` → `provider_model` */
function argumentName({ params, positionals }: Command, name: string): string {
  const param = params[name];
  const positional = positionals.find((each) => each.name === name);
  const shown = positional?.word ?? (param ? flagOf(name, param) : name);
  return shown.replace(/\W+/g, "_");
}

/** JSON values as the parser of a command line leaves them. */
function typedOf(
  command: Command,
  values: Readonly<Record<string, unknown>>,
): Record<string, TypedLine> {
  const typed: Record<string, TypedLine> = {};
  for (const [name, param] of Object.entries(command.params)) {
    const value = own(values, argumentName(command, name));
    if (value === undefined || value === null) continue;
    const text = (each: unknown) =>
      param.kind === "json" || typeof each === "object" ? stringifyJson(each) : String(each);
    if (typeof value === "boolean" && param.kind === "flag") typed[name] = value;
    else if (Array.isArray(value) && param.kind !== "json") typed[name] = value.map(text);
    else typed[name] = text(value);
  }
  return typed;
}

/** The error with `kb` for `<kb>` and `top_k` for `--top-k`. */
function withArgumentNames(error: CliError, command: Command): CliError {
  const names = Object.entries(command.params)
    .map(([name, param]) => [labelOf(command, name, param), argumentName(command, name)] as const)
    .sort(([a], [b]) => b.length - a.length);
  const renamed = (text: string) =>
    names.reduce((each, [label, name]) => each.replaceAll(label, name), text);
  return error.kind === "usage" ? error.with({}, renamed(error.message)) : error;
}

function callOf(words: readonly string[], commands: readonly Command[]): CommandCall | undefined {
  let parsed: ReturnType<typeof parseLine>;
  try {
    parsed = parseLine(words, commands);
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
  if (parsed.kind !== "run") return undefined;
  const { command, typed } = parsed;
  const values = Object.fromEntries(
    Object.entries(typed).map(([name, value]) => [argumentName(command, name), value]),
  );
  return { command: callable(command), values };
}
