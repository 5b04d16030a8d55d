import type { Host } from "../host.ts";
import { version } from "../version.ts";
import { commandsOf } from "./commands.ts";
import { asFailure } from "./failure.ts";
import { takesEach } from "./globals.ts";
import type { Globals } from "./globals.ts";
import { helpTopic } from "./help-topic.ts";
import { parse } from "./program.ts";

/**
 * The whole program: a command line (`["kb", "create", "Handbook"]`) and the world in, the exit
 * code out. Never throws, never exits. What only some lines need is loaded when they need it.
 */
export async function run(argv: readonly string[], host: Host): Promise<number> {
  let globals: Globals = {};
  try {
    const commands = commandsOf(argv[0] ?? "kb");
    if (argv[1] === "help") {
      await host.stdout.write(helpTopic(argv, commands));
      return 0;
    }
    if (argv[1] === "__complete") {
      const { completions } = await import("./completion.ts");
      const words = argv.slice(argv[2] === "--" ? 3 : 2);
      await host.stdout.write(await completions(argv[0] ?? "kb", words, commands, host));
      return 0;
    }
    const each = namesRows(argv) ? await import("./each.ts") : undefined;
    const parsed = parse(argv, each?.overRows(commands) ?? commands);
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
    const { perform } = rows ?? (await import("./perform.ts"));
    await perform(parsed, host);
    return 0;
  } catch (error) {
    const failure = asFailure(error);
    const { tell } = await import("./tell.ts");
    await tell(failure, argv, globals, host).catch(() => {}); // nobody reads standard error
    return failure.exit;
  }
}

/** Is the command to be run once per row of a file? Words after `--` are no flags. */
function namesRows(argv: readonly string[]): boolean {
  const first = argv.find((word) => word === "--" || /^--each(=|$)/.test(word));
  return first !== undefined && first !== "--";
}
