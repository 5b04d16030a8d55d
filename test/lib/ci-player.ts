import { cpSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { parse } from "yaml";
import { root } from "./paths.ts";
import { pipelineDirectory, runScript, type Variables } from "./pipeline.ts";

/** A package of a registry, which only `npm install --global` of a job makes available. */
export const registryPackage = "kb-wf@0.3.0";

const install = `[ "$*" = "install --global ${registryPackage}" ] || exit 1
for name in kb wf; do ln -s "${root}/bin/$name.js" "\${0%/*}/$name"; done`;

/** A job that ended. */
export interface EndedJob {
  /** As the service shows it: `sync (3)`, `sync 3/8`. */
  readonly name: string;
  readonly exit: number | null;
  readonly output: string;
  /** Names of the files that it gave to the service. */
  readonly artifacts: readonly string[];
}

/** The machine of one job: an empty directory, a home, and no program but those of the system, node and npm. */
export async function newMachine() {
  const place = await pipelineDirectory({ npm: install });
  symlinkSync(process.execPath, join(place, "bin", "node"));
  const [work, home] = [join(place, "work"), join(place, "home")];
  for (const path of [work, home]) mkdirSync(path);
  return { work, env: { PATH: `${join(place, "bin")}:/usr/bin:/bin`, HOME: home, CI: "true" } };
}

/** Puts the repository in a directory. */
export const checkOut = (work: string): void =>
  cpSync(join(root, "examples"), join(work, "examples"), { recursive: true });

interface Step {
  readonly uses?: string;
  readonly with?: Variables;
  readonly if?: string;
  readonly run?: string;
  readonly env?: Variables;
}

interface Workflow {
  readonly env: Variables;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly needs?: string | readonly string[];
        readonly strategy?: { readonly matrix: Readonly<Record<string, readonly number[]>> };
        readonly env?: Variables;
        readonly steps: readonly Step[];
      }
    >
  >;
}

/** Values of expressions by context: `{ vars: { KB_BASE_URL: … } }`. */
export type Contexts = Readonly<Record<string, Variables>>;

/** Replaces expressions; throws for one that has no value. */
const resolved = (text: string, contexts: Contexts): string =>
  text.replace(/\$\{\{\s*(.*?)\s*\}\}/g, (_, expression: string) => {
    const [context = "", name = ""] = expression.split(".");
    const value = contexts[context]?.[name];
    if (value === undefined) throw new Error(`no value: ${expression}`);
    return value;
  });

const resolvedAll = (variables: Variables | undefined, contexts: Contexts): Variables =>
  Object.fromEntries(
    Object.entries(variables ?? {}).map(([name, value]) => [name, resolved(value, contexts)]),
  );

/** All combinations of the values of a matrix. */
const combinations = (matrix: Readonly<Record<string, readonly number[]>>): Variables[] =>
  Object.entries(matrix).reduce<Variables[]>(
    (before, [name, values]) =>
      before.flatMap((one) => values.map((value) => ({ ...one, [name]: String(value) }))),
    [{}],
  );

/**
 * Plays a workflow as GitHub does: each job on a machine of its own, as soon as those that it needs have
 * passed, once for each combination of its matrix. A job sees only what the file gives it.
 */
export async function playGithub(text: string, contexts: Contexts): Promise<readonly EndedJob[]> {
  const { env, jobs } = parse(text) as Workflow;
  const played: EndedJob[] = [];
  const ends = new Map<string, Promise<boolean>>();
  const start = async (id: string): Promise<boolean> => {
    const job = jobs[id];
    if (job === undefined) throw new Error(`no job ${id}`);
    const needed = await Promise.all([job.needs ?? []].flat().map(endOf));
    if (needed.includes(false)) return false;
    const runs = combinations(job.strategy?.matrix ?? {}).map(async (matrix) => {
      const known = { ...contexts, matrix };
      const variables = { ...resolvedAll(env, known), ...resolvedAll(job.env, known) };
      const suffix = Object.values(matrix).join(", ");
      return {
        name: suffix ? `${id} (${suffix})` : id,
        ...(await playSteps(job.steps, variables, known)),
      };
    });
    const ended = await Promise.all(runs);
    played.push(...ended);
    return ended.every(({ exit }) => exit === 0);
  };
  const endOf = (id: string): Promise<boolean> => {
    const end = ends.get(id) ?? start(id);
    ends.set(id, end);
    return end;
  };
  await Promise.all(Object.keys(jobs).map(endOf));
  return played;
}

/** Plays the steps of a job in order; after one that failed, only those that always run. */
async function playSteps(steps: readonly Step[], variables: Variables, contexts: Contexts) {
  const machine = await newMachine();
  let [exit, output]: [number | null, string] = [0, ""];
  const artifacts: string[] = [];
  for (const step of steps) {
    const { if: condition = "success()" } = step;
    if (!["success()", "always()"].includes(condition)) throw new Error(`unknown: ${condition}`);
    if (exit !== 0 && condition === "success()") continue;
    if (step.run === undefined) {
      artifacts.push(...useAction(step, machine.work));
      continue;
    }
    const env = { ...machine.env, ...variables, ...resolvedAll(step.env, contexts) };
    const ran = await runScript(resolved(step.run, contexts), machine.work, env, ["-e"]);
    output += ran.output;
    exit = exit === 0 ? ran.exit : exit;
  }
  return { exit, output, artifacts };
}

/** What the actions of GitHub do; returns the files that the job gave away. */
function useAction({ uses = "", with: { path = "" } = {} }: Step, work: string): string[] {
  const [action] = uses.split("@");
  if (action === "actions/checkout") checkOut(work);
  else if (action !== "actions/upload-artifact") throw new Error(`unknown action: ${uses}`);
  return path && existsSync(join(work, path)) ? [basename(path)] : [];
}

interface GitlabJob {
  readonly stage: string;
  readonly parallel?: number;
  readonly variables?: Variables;
  readonly script: readonly string[];
  readonly artifacts?: { readonly paths?: readonly string[]; readonly reports?: Variables };
}

/**
 * Plays a pipeline as GitLab does: stage by stage, each job on a machine of its own with the repository and the
 * variables of the file and of the project (`given`).
 */
export async function playGitlab(text: string, given: Variables): Promise<readonly EndedJob[]> {
  const file = parse(text) as Readonly<Record<string, unknown>>;
  const jobs = Object.entries(file).filter(([, job]) => Object.hasOwn(Object(job), "script"));
  const before = (file["before_script"] ?? []) as readonly string[];
  const played: EndedJob[] = [];
  for (const stage of file["stages"] as readonly string[]) {
    const ended = await Promise.all(
      (jobs as [string, GitlabJob][])
        .filter(([, job]) => job.stage === stage)
        .flatMap(([id, job]) =>
          nodesOf(job).map(async ([suffix, node]) => {
            const env = {
              ...(file["variables"] as Variables),
              ...job.variables,
              ...given,
              ...node,
            };
            return { name: `${id}${suffix}`, ...(await playJob(job, before, env)) };
          }),
        ),
    );
    played.push(...ended);
    if (ended.some(({ exit }) => exit !== 0)) break;
  }
  return played;
}

/** The variables of the parallel jobs that a job stands for, each with the end of its name. */
function nodesOf({ parallel }: GitlabJob): [string, Variables][] {
  if (parallel === undefined) return [["", { CI_NODE_TOTAL: "1" }]];
  return Array.from({ length: parallel }, (_, at) => [
    ` ${at + 1}/${parallel}`,
    { CI_NODE_INDEX: String(at + 1), CI_NODE_TOTAL: String(parallel) },
  ]);
}

async function playJob(job: GitlabJob, before: readonly string[], variables: Variables) {
  const { work, env } = await newMachine();
  checkOut(work);
  const script = ["set -eo pipefail", ...before, ...job.script].join("\n");
  const ran = await runScript(script, work, { ...env, ...variables }, []);
  const { paths = [], reports = {} } = job.artifacts ?? {};
  const artifacts = [...paths, ...Object.values(reports)].filter((path) =>
    existsSync(join(work, path)),
  );
  return { ...ran, artifacts };
}
