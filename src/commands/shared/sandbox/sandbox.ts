import { once } from "node:events";
import { basename, extname } from "node:path";
import { isLoopback, sandboxProfile, sandboxStatePath } from "../../../config/profiles.ts";
import { CliError, abortError, codeOf, diskProblem, reasonOf, usage } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { sandboxServers } from "../../../lib/version.ts";
import type { Input } from "../../../operations/operation.ts";
import { readApplication } from "../../../sandbox/apps/definitions/applications.ts";
import type { RequestRecord } from "../../../sandbox/control/control.ts";
import { startSandbox } from "../../../sandbox/http/server.ts";
import type { Sandbox } from "../../../sandbox/http/server.ts";
import { parseFault } from "../../../sandbox/protocol/faults.ts";
import type { Fault } from "../../../sandbox/protocol/faults.ts";
import { SilentExit } from "../../task/command-spec.ts";
import type { Context } from "../../task/command-spec.ts";
import type { sandboxParams } from "./command.ts";
import { stringifyJson } from "../../../lib/json.ts";

type SandboxInput = Input<typeof sandboxParams>;

/**
 * `sandbox`: runs a local server, until it is interrupted or for the duration of a command, whose
 * exit code it passes on.
 */
export async function* run(input: SandboxInput, context: Context): AsyncGenerator<object> {
  const { host } = context;
  const faults = (input.fault ?? []).map((text) => faultOf(text));
  const directory = dataDirectory(input, host);
  const applications = await Promise.all(
    (input.app_file ?? []).map((path) => readAppFile(path, host)),
  );
  if (directory !== null) await host.files.makeDirectory(directory, 0o700);
  const log = requestLog(input.log, context);
  const sandbox = await startSandbox({
    clock: { now: () => host.now(), sleep: (ms, signal) => host.sleep(ms, signal) },
    random: () => host.random(),
    directory,
    ...(input.host !== undefined && { host: input.host }),
    ...(input.port !== undefined && { port: input.port }),
    ...(input.seed !== undefined && { seed: input.seed }),
    connections: input.connections,
    ...(input.server && { server: sandboxServers[input.server] }),
    allowedHosts: input.allow_host ?? [],
    applications,
    models: !input.without_models,
    faults,
    onResponse: (record) => log.add(record),
    onError: (error, where) => void reportError(host, error, where),
    ownPid: host.process.pid,
    isAlive: (pid) => host.process.isAlive(pid),
  }).catch((error: unknown) => {
    throw startError(error, input);
  });
  try {
    if (input.host !== undefined && !isLoopback(input.host)) {
      await context.notice("other machines can reach the sandbox; its keys are public");
    }
    const command = input.command ?? [];
    if (command.length > 0) await runCommand(command, sandbox, context);
    else yield* serve(sandbox, directory, context);
  } finally {
    await sandbox.stop();
    await log.written();
  }
}

function dataDirectory({ ephemeral, data, seed }: SandboxInput, host: Host): string | null {
  if (ephemeral && data !== undefined) {
    throw usage("--data and --ephemeral cannot be used together");
  }
  if (seed !== undefined && !ephemeral) {
    throw usage(
      "--seed requires --ephemeral",
      "add --ephemeral: kept data would change the results",
    );
  }
  return ephemeral ? null : (data ?? host.directories.data);
}

/** Reports an internal error of the sandbox, which would otherwise look like one of the server. */
const reportError = (host: Host, error: unknown, where: string) =>
  host.stderr.write(
    `the sandbox failed on ${where}:\n${error instanceof Error ? error.stack : String(error)}\n`,
  );

function faultOf(text: string): Fault {
  try {
    return parseFault(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw usage(
      `--fault ${JSON.stringify(text)}: ${reason}`,
      "for example 'GET /workflow/*/events cut-after=4 times=2'",
    );
  }
}

function startError(error: unknown, { port, host = "127.0.0.1" }: SandboxInput): unknown {
  const code = codeOf(error);
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return usage(
      `--host: ${host} is not an address of this machine`,
      "use 0.0.0.0 for all addresses, or omit it for 127.0.0.1",
    );
  }
  if (code === "EADDRINUSE") {
    return usage(
      `port ${port} is already in use`,
      "choose another --port, or omit it to use a free one",
    );
  }
  return error instanceof CliError || !(error instanceof Error)
    ? error
    : new CliError("failure", `failed to start the sandbox: ${reasonOf(error)}`, { cause: error });
}

/** The prompt of a shell: that of sh, and in bash that of its files, which are read later. */
const marked = {
  PS1: "(sandbox) $ ",
  PROMPT_COMMAND: 'PS1="(sandbox) ${PS1#\\(sandbox\\) }"',
};

/** Runs a command whose environment points to the sandbox, and exits with its code. */
async function runCommand(
  command: readonly string[],
  sandbox: Sandbox,
  { host, notice, options }: Context,
): Promise<void> {
  const [program = "", ...args] = command;
  // A shell would begin without a word.
  const isShell = args.length === 0 && host.stdin.isTTY && host.stdout.isTTY;
  if (isShell) {
    const [list, run] = [commandLine("kb list"), commandLine("wf run", [], { app: "echo" })];
    await notice(`kb and wf use a sandbox here: try ${list} or ${run}; exit ends it`);
  }
  const { no_proxy, NO_PROXY } = host.env;
  const noProxy = [no_proxy || NO_PROXY, new URL(sandbox.origin).hostname].filter(Boolean).join();
  const base_url = `${sandbox.origin}/v1`;
  const child = host.spawn(program, args, {
    env: {
      KB_APP: undefined,
      no_proxy: noProxy, // a proxy on another machine cannot reach this one
      NO_PROXY: noProxy,
      PATH: [host.binDirectory, host.env["PATH"]].filter(Boolean).join(host.pathSeparator),
      KB_BASE_URL: base_url,
      KB_KEY: sandbox.knowledgeKey,
      KB_PROFILE: sandboxProfile,
      KB_SANDBOX_APP_KEYS: JSON.stringify(sandbox.appKeys),
      DIFY_BASE_URL: base_url,
      DIFY_API_URL: base_url,
      DIFY_API_KEY: sandbox.appKeys["echo"],
      ...(isShell && marked),
    },
  });
  const forward = () => child.kill(host.signal.reason as NodeJS.Signals); // the reason is its name
  host.signal.addEventListener("abort", forward, { once: true });
  const exit = await child.exit.catch((cause: unknown) => {
    const alone = commandLine(`${options.program} sandbox`);
    const hint = `check that it is installed and in PATH; the server without a command: ${alone}`;
    throw usage(`failed to start ${program}`, hint, { cause });
  });
  if (host.signal.aborted) throw new SilentExit(abortError(host.signal).exit);
  if (exit !== 0) throw new SilentExit(exit);
}

async function* serve(
  sandbox: Sandbox,
  directory: string | null,
  context: Context,
): AsyncGenerator<object> {
  const { host } = context;
  const base_url = `${sandbox.origin}/v1`;
  const state = `${JSON.stringify({ base_url, apps: sandbox.appKeys })}\n`;
  try {
    await host.files.makeDirectory(host.directories.state, 0o700);
    await host.files.writeAtomic(sandboxStatePath(host), state, 0o600);
  } catch (error) {
    await context.notice(`-p ${sandboxProfile} will not find the sandbox: ${reasonOf(error)}`);
  }
  try {
    yield {
      base_url,
      key: sandbox.knowledgeKey,
      apps: sandbox.appKeys,
      profile: sandboxProfile,
      data: directory,
    };
    const example = commandLine("kb list", [], { p: sandboxProfile });
    await context.notice(`to use it, run for example: ${example}; press Ctrl-C to stop`);
    if (!host.signal.aborted) await once(host.signal, "abort");
  } finally {
    await removeState(host, state);
  }
  throw new SilentExit(context.abortError().exit); // Ctrl-C is not an error here
}

/** Removes the state file, unless another sandbox has replaced it. */
async function removeState(host: Host, state: string): Promise<void> {
  try {
    const current = await host.files.read(sandboxStatePath(host));
    if (new TextDecoder().decode(current) === state)
      await host.files.remove(sandboxStatePath(host));
  } catch {
    // already removed
  }
}

/** Writes the lines of --log, one for each request and in order. Nothing in them is a key or a body. */
function requestLog(path: string | undefined, { host, notice }: Context) {
  let last = Promise.resolve();
  let failed = false;
  const write = async (line: string) => {
    if (failed || path === undefined) return;
    try {
      if (path === "-") await host.stdout.write(line);
      else await host.files.append(path, line);
    } catch (error) {
      failed = true;
      await notice(`--log: failed to write ${path}: ${reasonOf(error)}`);
    }
  };
  return {
    add({ time, method, path: route, status, ms, app, dataset }: RequestRecord): void {
      const fields = { time, method, path: route, status, ms, app, dataset };
      last = last.then(() => write(`${stringifyJson(fields)}\n`));
    },
    written: () => last,
  };
}

/**
 * Reads an application of --app-file: an export or rules in YAML or JSON, or the recording of a run. Its
 * name is that of the file. Throws usage with the file and the reason.
 */
async function readAppFile(path: string, { files }: Host): Promise<object> {
  const name = basename(path, extname(path));
  try {
    if (!/^[\w.-]+$/.test(name)) {
      throw new Error("its name becomes part of a key: use only letters, digits, - . and _");
    }
    return await readApplication(new TextDecoder().decode(await files.read(path)), name);
  } catch (error) {
    const reason = diskProblem(error)?.reason ?? (error instanceof Error ? error.message : "");
    throw usage(
      `--app-file ${path}: ${reason}`,
      "export an application, record one of its runs, or write rules",
    );
  }
}
