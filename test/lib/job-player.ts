import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import type { IJob } from "kubernetes-models/batch/v1";
import { parse } from "yaml";
import { root } from "./paths.ts";
import { temporaryDirectory } from "./support.ts";

/** Reads a job of examples/kubernetes. */
export const jobOf = (name: string) =>
  parse(readFileSync(join(root, "examples", "kubernetes", name), "utf8")) as IJob;

/** A container that ended. */
interface EndedPod {
  readonly index: number;
  readonly exit: number;
  readonly output: string;
}

/** What a cluster made of a job. */
interface PlayedJob {
  readonly status: "Complete" | "Failed";
  readonly pods: readonly EndedPod[];
}

/** What takes the place of a cluster's objects. */
interface Cluster {
  /** The variables of the Secret, and others that the test needs. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directories instead of the mounted ones, by mount path. */
  readonly mounts: Readonly<Record<string, string>>;
  /** When to kill the first pod of each index that still runs, with SIGKILL. */
  readonly kill?: Promise<void>;
}

/**
 * Plays a job as the job controller of Kubernetes does: a process for each pod, up to `parallelism` at a
 * time, with the variables of an indexed job; failed pods are replaced as the failure policy says.
 */
export async function playJob({ spec }: IJob, cluster: Cluster): Promise<PlayedJob> {
  if (!spec) throw new Error("the job has no spec");
  const indexed = spec.completionMode === "Indexed";
  const limit = (indexed ? spec.backoffLimitPerIndex : spec.backoffLimit) ?? 0;
  const pods: EndedPod[] = [];
  const stop = new AbortController(); // when the job fails, its pods are deleted
  const waiting = Array.from({ length: spec.completions ?? 1 }, (_, index) => index);
  let failed = false;

  const runIndex = async (index: number): Promise<void> => {
    for (let failures = 0, attempt = 0; !stop.signal.aborted; attempt++) {
      const { kill: first, ...rest } = cluster;
      const kill = attempt === 0 ? first : undefined;
      const pod = await runPod(spec, index, { ...rest, indexed, kill, signal: stop.signal });
      pods.push(pod);
      if (pod.exit === 0) return;
      const action = actionOn(pod.exit, spec.podFailurePolicy?.rules ?? []);
      if (action === "Count") failures++;
      if (action === "FailJob") stop.abort();
      if (action !== "Ignore" && (action !== "Count" || failures > limit)) {
        failed = true;
        return;
      }
    }
  };
  const worker = async () => {
    for (let index = waiting.shift(); index !== undefined; index = waiting.shift())
      await runIndex(index);
  };
  await Promise.all(Array.from({ length: spec.parallelism ?? 1 }, worker));
  return { status: failed ? "Failed" : "Complete", pods };
}

type JobSpec = NonNullable<IJob["spec"]>;
type Rules = NonNullable<JobSpec["podFailurePolicy"]>["rules"];

/** The action of the first rule that an exit code meets; failures count by default. */
function actionOn(exit: number, rules: Rules): string {
  const rule = rules.find(({ onExitCodes }) => {
    if (!onExitCodes) return false;
    return onExitCodes.values.includes(exit) === (onExitCodes.operator === "In");
  });
  return rule?.action ?? "Count";
}

async function runPod(
  { template }: JobSpec,
  index: number,
  cluster: Omit<Cluster, "kill"> & {
    readonly indexed: boolean;
    readonly kill: Promise<void> | undefined;
    readonly signal: AbortSignal;
  },
): Promise<EndedPod> {
  const [container] = template.spec?.containers ?? [];
  const args = (container?.args ?? []).map((word) => cluster.mounts[word] ?? word);
  const child = spawn(process.execPath, [join(root, "bin", "kb.js"), ...args], {
    env: {
      HOME: await temporaryDirectory(), // a pod finds nothing of others, nor of an earlier one
      ...cluster.env,
      ...(cluster.indexed && { JOB_COMPLETION_INDEX: String(index) }),
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const onDelete = () => child.kill("SIGTERM");
  cluster.signal.addEventListener("abort", onDelete, { once: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  void cluster.kill?.then(() => child.kill("SIGKILL"));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  cluster.signal.removeEventListener("abort", onDelete);
  return { index, exit: code ?? 128 + constants.signals[signal ?? "SIGKILL"], output };
}
