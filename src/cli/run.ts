import type { Host, RawHost } from "../host/host.ts";
import { CliError, diskProblem } from "../errors.ts";
import { withWrite } from "../output/stream-wrap.ts";
import { newSecrets, withoutKeys } from "../redact/keys.ts";
import { version } from "../lib/version.ts";
import { commandsOf } from "./parse/command-list.ts";
import { toCliError } from "./errors/error-text.ts";
import { takesEach } from "./parse/shared-flags.ts";
import type { Globals } from "./parse/shared-flags.ts";
import { parseLine } from "./parse/parser.ts";
import { emptyRequestLog } from "./trace/request-log.ts";

/**
 * The whole program: a command line (`["kb", "create", "Handbook"]`) and the world in, the exit
 * code out. Never throws, never exits. What only some lines need is loaded when they need it.
 */
export async function run(argv: readonly string[], outside: RawHost): Promise<number> {
  let globals: Globals = {};
  const trail = emptyRequestLog();
  const host = discreet(outside);
  try {
    const commands = await commandsOf(argv[0] === "wf" ? "wf" : "kb");
    if (argv[1] === "help") {
      const { helpTopic } = await import("./help/topic.ts");
      await host.stdout.write(helpTopic(argv, commands));
      return 0;
    }
    if (argv[1] === "__complete") {
      const { completions } = await import("./complete/complete.ts");
      const words = argv.slice(argv[2] === "--" ? 3 : 2);
      await host.stdout.write(await completions(argv[0] ?? "kb", words, commands, host));
      return 0;
    }
    const each = namesRows(argv) ? await import("./batch/batch.ts") : undefined;
    const parsed = parseLine(argv, each?.overRows(commands) ?? commands);
    if (parsed.kind === "version") {
      await host.stdout.write(`${argv[0]} ${version} (node ${host.platform})\n`);
      return 0;
    }
    if (parsed.kind === "help") {
      await host.stdout.write(parsed.text);
      return 0;
    }
    globals = parsed.globals;
    // A task may read rows by itself.
    const rows = each && takesEach(parsed.command) ? each : undefined;
    const { execute } = rows ?? (await import("./execute/execute.ts"));
    await execute(parsed, { ...host, prompt: askingSafely(host) }, trail);
    return 0;
  } catch (error) {
    const failure = toCliError(error, Object.values(outside.directories));
    const { printError } = await import("./errors/print-error.ts");
    await printError(failure, argv, globals, trail, host);
    // A line that was wrong needs no report: its error says all.
    if (trail.count > 0 || failure.info.code === "bug") {
      const { logError } = await import("./errors/log-error.ts");
      await logError(failure, argv, trail, host);
    }
    return failure.exit;
  }
}

/** Questions hold names that a server gave: none of them acts on the terminal. */
const askingSafely =
  (host: Host): Host["prompt"] =>
  async (question, options) => {
    const { visible } = await import("../output/table/display-width.ts");
    return host.prompt(visible(question), options);
  };

/** Is the command to be run once per row of a file? Words after `--` are no flags. */
function namesRows(argv: readonly string[]): boolean {
  const first = argv.find((word) => word === "--" || /^--each(=|$)/.test(word));
  return first !== undefined && first !== "--";
}

/**
 * The host with streams that stop no work: standard error shows no key, whoever writes there (nothing
 * asked for does), and what it does not take is lost; standard input fails in words.
 */
function discreet(outside: RawHost): Host {
  const { stderr, stdin } = outside;
  const secrets = newSecrets(outside.env);
  const masking = withWrite(stderr, (text) =>
    stderr.write(typeof text === "string" ? secrets.masked(text) : text).catch(() => {}),
  );
  return {
    ...outside,
    secrets,
    stderr: masking,
    spawn: (command, args, { env, ...rest } = {}) =>
      outside.spawn(command, args, { ...rest, env: { ...withoutKeys(outside.env), ...env } }),
    stdin: {
      get isTTY() {
        return stdin.isTTY;
      },
      bytes: () => readable(stdin.bytes()),
    },
  };
}

async function* readable(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (cause) {
    const problem = diskProblem(cause);
    if (!problem) throw cause;
    throw new CliError(problem.kind, `standard input cannot be read: ${problem.reason}`, { cause });
  }
}
