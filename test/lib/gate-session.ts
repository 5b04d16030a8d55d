/** Suites that are judged against a baseline, by the program and a sandbox. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { readAnswerRules } from "../../src/sandbox/apps/definitions/read-rules.ts";
import { startSandbox } from "../../src/sandbox/http/server.ts";
import { write } from "./directory.ts";
import { fastClock } from "./fast-clock.ts";
import { gateApp, gateSuite } from "./gate-apps.ts";
import { cli, type Ran, temporaryDirectory, type World } from "./support.ts";

type Rates = Parameters<typeof gateApp>[0];

/** What a run has saved. */
export interface Judged extends Ran {
  readonly tests: readonly {
    readonly test: string;
    readonly verdict: string;
    readonly passes: number;
    readonly runs: number;
    readonly fresh: { readonly passes: number; readonly runs: number } | null;
    readonly results: readonly { readonly status: string }[];
  }[];
  readonly comparison: {
    readonly verdict: string;
    readonly p: number;
    readonly cached: boolean;
    readonly again: { readonly passes: number; readonly runs: number } | null;
    readonly history: { readonly used: number; readonly refused: readonly string[] };
    readonly baseline: { readonly looks: number };
  };
}

/** A sandbox with applications, given by the pass rates of their tests, and one suite with these tests. */
export async function gateSession(
  apps: Readonly<Record<string, Rates>>,
  { seed = 1, ...how }: { seed?: number; cache?: boolean; answers?: number } = {},
) {
  const sandbox = await startSandbox({
    clock: fastClock(50),
    directory: null,
    seed,
    applications: Object.entries(apps).map(([name, rates]) =>
      readAnswerRules(JSON.parse(gateApp(rates, how)) as object, name),
    ),
  });
  const folder = await temporaryDirectory();
  const at = (name: string) => join(folder, name);
  const [rates = {}] = Object.values(apps);
  await write(folder, { "suite.yaml": gateSuite(rates) });
  const env = {
    KB_BASE_URL: `${sandbox.origin}/v1`,
    KB_PROFILE: "sandbox",
    KB_SANDBOX_APP_KEYS: JSON.stringify(sandbox.appKeys),
  };
  const line = (app: string, args: readonly string[]) =>
    ["wf", "--app", app, "test", "run", at("suite.yaml")].concat(
      args.map((word) => (/\.(json|xml)$|^history$/.test(word) ? at(word) : word)),
    );
  return {
    folder,
    at,
    env,
    line,
    stop: () => sandbox.stop(),
    /** Runs the suite with `--save now.json`, or another file, and reads the saved results. */
    async judged(app: string, args: readonly string[], world: World = {}): Promise<Judged> {
      const save = args.includes("--save") ? [] : ["--save", "now.json"];
      const given = line(app, [...args, ...save]);
      const ran = await cli(given, { env, folder, ...world });
      const saved = await readFile(given[given.indexOf("--save") + 1] ?? "", "utf8");
      return { ...ran, ...(JSON.parse(saved) as Omit<Judged, keyof Ran>) };
    },
    /** A request to the control of the sandbox, such as `DELETE /cache`. */
    control(request: string, body?: string): Promise<Response> {
      const [method = "", path = ""] = request.split(" ");
      const url = `${sandbox.origin}/_sandbox${path}`;
      return fetch(url, { method, ...(body !== undefined && { body }) });
    },
  };
}
