import type { Sandbox, SandboxOptions } from "../../types/sandbox.d.cts";
import { reasonOf } from "../errors.ts";
import { clientHost } from "../host/client-host.ts";
import { sandboxServers } from "../lib/version.ts";
import { definitionOf, readApplication } from "../sandbox/apps/definitions/applications.ts";
import { startSandbox } from "../sandbox/http/server.ts";
import { parseFault } from "../sandbox/protocol/faults.ts";

/** Starts a sandbox for the tests of another program; its data are in memory. Throws an Error with the reason. */
async function startDouble(options: SandboxOptions = {}): Promise<Sandbox> {
  const { seed, models = true, server = "1.14", faults = [], apps = {}, port } = options;
  const host = clientHost({ connectTimeout: 0 });
  const applications = await Promise.all(
    Object.entries(apps).map(([name, given]) => applicationOf(name, given)),
  );
  const sandbox = await startSandbox({
    clock: { now: host.now, sleep: host.sleep },
    random: host.random,
    directory: null,
    models,
    server: sandboxServers[server],
    faults: faults.map(parseFault),
    applications,
    ...(seed !== undefined && { seed }),
    ...(port !== undefined && { port }),
  });
  return {
    url: `${sandbox.origin}/v1`,
    keys: { knowledge: sandbox.knowledgeKey, apps: sandbox.appKeys },
    requests: () => [...sandbox.requests.records],
    reset: () => sandbox.reset(),
    faults: (texts) => sandbox.setFaults(texts.map(parseFault)),
    close: () => sandbox.stop(),
    [Symbol.asyncDispose]: () => sandbox.stop(),
  };
}

/** Reads an application: its export, rules for answers, or the text of a recorded run. */
async function applicationOf(name: string, given: string | object): Promise<object> {
  if (!/^[\w.-]+$/.test(name))
    throw new Error(`apps: ${name}: use only letters, digits, - . and _`);
  if (typeof given !== "string") return definitionOf(given, name);
  return readApplication(given, name).catch((error: unknown) => {
    throw new Error(`apps: ${name}: ${reasonOf(error)}`, { cause: error });
  });
}

export { startDouble as startSandbox };
