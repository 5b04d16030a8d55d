import { abortError } from "../../api/abort.ts";
import { CliError, reasonOf } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { sandboxApps, sandboxProfile, sandboxStatePath } from "../../config/sandbox-profile.ts";
import type { Fault } from "../../sandbox/http/faults.ts";
import type { Sandbox } from "../../sandbox/http/server.ts";
import type { Context } from "../command-spec.ts";

/** Input of `sandbox`. */
export interface SandboxInput {
  readonly port?: number | undefined;
  readonly data?: string | undefined;
  readonly ephemeral?: boolean | undefined;
  readonly server?: keyof typeof versions | undefined;
  readonly fault?: readonly string[] | undefined;
  readonly command?: readonly string[] | undefined;
}

/** The exact versions of the servers that were recorded. */
const versions = { "1.12": "1.12.1", "1.14": "1.14.2", "1.15": "1.15.0" } as const;

/** What a person needs to reach it. */
interface Reached {
  readonly base_url: string;
  readonly key: string;
  readonly apps: Readonly<Record<string, string>>;
  readonly profile: string;
  readonly data: string | null;
}

/**
 * The local server. With a command it runs that against a sandbox of its own and ends with its exit
 * code; without, it stays until it is interrupted.
 */
export async function* run(input: SandboxInput, context: Context): AsyncGenerator<Reached> {
  const { host } = context;
  const { startSandbox } = await import("../../sandbox/http/server.ts");
  const { parseFault } = await import("../../sandbox/http/faults.ts");
  const faults = (input.fault ?? []).map((text) => faultOf(text, parseFault));
  if (input.ephemeral && input.data !== undefined) {
    throw new CliError("usage", "give either --data or --ephemeral, not both");
  }
  const folder = input.ephemeral ? null : (input.data ?? host.directories.data);
  if (folder !== null) await host.files.makeDirectory(folder, 0o700);
  const sandbox = await startSandbox({
    clock: { now: () => host.now(), sleep: (ms, signal) => host.sleep(ms, signal) },
    random: () => host.random(),
    directory: folder,
    ...(input.port !== undefined && { port: input.port }),
    ...(input.server && { server: versions[input.server] }),
    faults,
    onError: (error, where) => void tellBug(host, error, where),
    ownPid: host.process.pid,
    isAlive: (pid) => host.process.isAlive(pid),
  }).catch((error: unknown) => {
    throw cannotStart(error, input);
  });
  try {
    const command = input.command ?? [];
    if (command.length > 0) await runCommand(command, sandbox, context);
    else yield* serve(sandbox, folder, context);
  } finally {
    await sandbox.stop();
  }
}

/** What the sandbox did wrong, with where it was: else it would look like the server's own failure. */
const tellBug = (host: Host, error: unknown, where: string) =>
  host.stderr.write(
    `the sandbox failed on ${where}:\n${error instanceof Error ? error.stack : String(error)}\n`,
  );

function faultOf(text: string, parse: (text: string) => Fault): Fault {
  try {
    return parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw new CliError("usage", `--fault ${JSON.stringify(text)}: ${reason}`, {
      sideEffect: "none",
      hint: "for example 'GET /workflow/*/events cut-after=4 times=2'",
    });
  }
}

function cannotStart(error: unknown, { port }: SandboxInput): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") {
    return new CliError("usage", `port ${port} is taken by another program`, {
      hint: "choose another --port, or leave it away for a free one",
    });
  }
  return error instanceof CliError || !(error instanceof Error)
    ? error
    : new CliError("failure", `the sandbox cannot start: ${reasonOf(error)}`, { cause: error });
}

/** Runs a command with the environment that leads it to this sandbox; ends with its exit code. */
async function runCommand(
  command: readonly string[],
  sandbox: Sandbox,
  { host, signal }: Context,
): Promise<void> {
  const [program = "", ...args] = command;
  const { no_proxy, NO_PROXY } = host.env;
  const direct = [no_proxy || NO_PROXY, new URL(sandbox.origin).hostname].filter(Boolean).join();
  const child = host.spawn(program, args, {
    env: {
      KB_APP: undefined,
      no_proxy: direct, // a proxy elsewhere does not reach this machine
      NO_PROXY: direct,
      PATH: [host.binDirectory, host.env["PATH"]].filter(Boolean).join(host.pathSeparator),
      KB_BASE_URL: `${sandbox.origin}/v1`,
      KB_KEY: "dataset-sandbox",
      KB_PROFILE: sandboxProfile,
    },
  });
  const forward = () => child.kill(signal.reason as NodeJS.Signals); // host not found:s the signal there
  signal.addEventListener("abort", forward, { once: true });
  const exit = await child.exit.catch((error: unknown) => {
    throw new CliError("usage", `${program} cannot be started`, {
      cause: error,
      hint: "is it installed?",
    });
  });
  if (signal.aborted) throw new SilentExit(abortError(signal, false).exit);
  if (exit !== 0) throw new SilentExit(exit);
}

/** Ends this program with an exit code and without a message. */
export class SilentExit extends CliError {
  readonly code: number;

  constructor(code: number) {
    super("failure", "");
    this.code = code;
  }

  override get exit(): number {
    return this.code;
  }
}

async function* serve(
  sandbox: Sandbox,
  folder: string | null,
  context: Context,
): AsyncGenerator<Reached> {
  const { host, signal } = context;
  const base_url = `${sandbox.origin}/v1`;
  const state = `${JSON.stringify({ base_url })}\n`;
  try {
    await host.files.makeDirectory(host.directories.state, 0o700);
    await host.files.writeAtomic(sandboxStatePath(host), state, 0o600);
  } catch (error) {
    await context.notice(`-p ${sandboxProfile} will not find it: ${reasonOf(error)}`);
  }
  try {
    yield {
      base_url,
      key: "dataset-sandbox",
      apps: Object.fromEntries(sandboxApps.map((name) => [name, `app-${name}`])),
      profile: sandboxProfile,
      data: folder,
    };
    await context.notice(
      `reach it with -p ${sandboxProfile}: kb -p ${sandboxProfile} list; Ctrl-C ends it`,
    );
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  } finally {
    await forgetState(host, state);
  }
  throw new SilentExit(context.abortError().exit); // Ctrl-C is how it ends: nothing to tell
}

/** Takes the address away, unless another sandbox has put its own there meanwhile. */
async function forgetState(host: Host, state: string): Promise<void> {
  try {
    const found = await host.files.read(sandboxStatePath(host));
    if (new TextDecoder().decode(found) === state) await host.files.remove(sandboxStatePath(host));
  } catch {
    // it is gone already
  }
}
