import { setImmediate } from "node:timers/promises";
import { exitCodes } from "../../src/errors.ts";
import { operations } from "../../src/operations/index.ts";
import { methodAndPath, retryOf } from "../../src/operations/operation.ts";
import type { ReceivedRequest } from "../../src/sandbox/http/server.ts";
import type { Ran } from "./support.ts";
import { failures, signals, tortured } from "./torture.ts";
import type { Fault, HostCall, Tortured } from "./torture.ts";
import type { Line } from "./torture-lines.ts";
import { same } from "./torture-world.ts";
import type { Look, Scene, Stage } from "./torture-world.ts";

/** A finished command line, and everything known about it. */
interface Told {
  readonly ran: Ran;
  readonly calls: readonly HostCall[];
  readonly hit: ReturnType<Tortured["hit"]>;
  readonly look: Look;
  /** Requests that must not be retried, as the server received them. */
  readonly once: readonly string[];
  /** Unhandled rejections. */
  readonly unhandled: readonly unknown[];
}

/** A run without a fault, and the state before it. */
export interface Undisturbed extends Told {
  readonly before: Look;
}

export async function undisturbed(stage: Stage, line: Line): Promise<Undisturbed> {
  const scene = await stage.fresh();
  try {
    const before = await scene.look();
    return { before, ...(await toldOf(stage, scene, line, 100_000)) };
  } finally {
    await scene.stop();
  }
}

/** All faults that these calls can have. */
export const faultsOf = (calls: readonly HostCall[]): Fault[] =>
  calls.flatMap(({ kind }, at) => [...failures[kind], ...signals].map((how) => ({ at, how })));

/** Runs a command line with a fault; returns what is wrong with the result. */
export async function complaints(
  stage: Stage,
  line: Line,
  normal: Undisturbed,
  fault: Fault,
): Promise<string[]> {
  const scene = await stage.fresh();
  try {
    const most = 50 * normal.calls.length + 100;
    const info = await toldOf(stage, scene, line, most, fault);
    const found = wrong(line, normal, info, most);
    if (
      line.again &&
      differences(info.look, normal.look, [...harmless(info.hit), ...incomplete(line)]).length > 0
    ) {
      const second = await toldOf(stage, scene, line, most);
      found.push(...wrongAgain(line, normal, info, second));
    }
    const { hit } = info;
    return found.map(
      (each) =>
        `${hit?.how} at call ${fault.at}, ${hit?.name.slice(0, 200)}: ${each}\n  ${info.ran.exit} ${info.ran.err}`,
    );
  } finally {
    await scene.stop();
  }
}

async function toldOf(
  stage: Stage,
  scene: Scene,
  line: Line,
  most: number,
  fault?: Fault,
): Promise<Told> {
  const { argv, child, answers, stdin, env } = line;
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const from = scene.seen.length;
  let torture: Tortured | undefined;
  const ran = await scene.cli(argv(stage.places), {
    ...(env && { env }),
    ...(stdin !== undefined && { stdin }),
    ...(answers && { tty: true, answers }),
    ...(child !== undefined && {
      spawn: () => ({
        exit: Promise.resolve(0),
        output: Promise.resolve(child),
        kill: () => {},
      }),
    }),
    around: (host) => (torture = tortured(host, most, fault)).host,
  });
  await torture?.close();
  await setImmediate(); // rejections are reported one turn later
  process.off("unhandledRejection", note);
  return {
    ran,
    calls: torture?.calls ?? [],
    hit: torture?.hit(),
    look: await scene.look(),
    once: scene.seen.slice(from).filter(isOnce).map(asText),
    unhandled,
  };
}

const codes: readonly number[] = Object.values(exitCodes).map(([code]) => code);

/** What is wrong with a run with a fault. */
function wrong(line: Line, normal: Undisturbed, info: Told, most: number): string[] {
  const { ran, hit, look } = info;
  const found: string[] = [];
  const whole =
    line.announces?.test(ran.err) === true ||
    same(ran.out) === same(normal.ran.out) ||
    (hit?.kind === "stdout" && hit.how === "closed"); // the reader had enough
  // A file of which parts are harmless may also stay whole, if it cannot be removed.
  const kept = [...look.files.keys()].filter(
    (path) =>
      line.partial?.test(path) && hit?.name.startsWith("remove ") && hit.name.endsWith(path),
  );
  const end = differences(look, normal.look, [...harmless(hit), ...kept]);
  if (info.calls.length > most) found.push("it does not end");
  if (info.unhandled.length > 0) found.push(`unhandled rejection: ${String(info.unhandled[0])}`);
  if (!codes.includes(ran.exit)) found.push("no such exit code");
  if (ran.exit === normal.ran.exit && (!whole || end.length > 0)) {
    found.push(
      `it says that all is well, but: ${[...(whole ? [] : ["output"]), ...end].join("; ")}`,
    );
  }
  if (/KB_STATE_DIR/.test(ran.err) && !hit?.name.includes("/home/")) {
    found.push("its hint is about other directories");
  }
  if (ran.exit === 11 && hit?.kind !== "request" && hit?.kind !== "answer") {
    found.push("it mentions the network");
  }
  if (ran.exit >= 128 && hit?.how !== "left" && !signals.some((each) => each === hit?.how)) {
    found.push("it reports an interrupt");
  }
  if (
    signals.some((each) => each === hit?.how) &&
    ![130, 143, normal.ran.exit].includes(ran.exit)
  ) {
    found.push("it does not report the interrupt");
  }
  if (ran.exit !== normal.ran.exit && ran.err === "" && hit?.kind !== "stderr") {
    found.push("it prints no error");
  }
  if (/internal error:|^ +at |undefined|\[object/m.test(ran.err))
    found.push("it reports an internal error");
  if (/no changes were made/.test(ran.err) && differences(look, normal.before).length > 0) {
    found.push("it reports that no changes were made");
  }
  found.push(...halves(line, normal, info));
  return [...found, ...repeated(normal.once, info.once)];
}

/** Requests that were sent more often than without a fault. */
function repeated(normal: readonly string[], sent: readonly string[]): string[] {
  const left = [...normal];
  return sent.flatMap((request) => {
    const at = left.indexOf(request);
    if (at === -1) return [`sent more than once: ${request.slice(0, 100)}`];
    left.splice(at, 1);
    return [];
  });
}

/** Files whose content is neither the old nor the new one. */
function halves(line: Line, { before, look: after }: Undisturbed, { hit, look }: Told): string[] {
  const spared = harmless(hit);
  const found: string[] = [];
  for (const [path, text] of look.files) {
    if (path.endsWith(".tmp")) found.push(`left behind: ${path}`);
    else if (![before, after].some(({ files }) => files.get(path) === text)) {
      if (spared.includes(path)) continue;
      if (!line.partial?.test(path)) found.push(`half: ${path}: ${text.slice(0, 300)}`);
    }
  }
  for (const path of before.files.keys()) {
    if (after.files.has(path) && !look.files.has(path)) found.push(`gone: ${path}`);
  }
  return found;
}

/** What is wrong if the same command line, run again, does not end normally. */
function wrongAgain(line: Line, normal: Undisturbed, first: Told, second: Told): string[] {
  const { ran, look } = second;
  if (line.again === "sends nothing twice") {
    const twice = repeated(normal.once, [...first.once, ...second.once]);
    if (twice.length > 0) return twice;
    const doubtful = first.once.length > 0 || first.hit?.kind === "request";
    if (doubtful && ran.exit === 10 && /\d unknown/.test(ran.err)) return [];
  }
  const end = differences(look, normal.look, [...harmless(first.hit), ...incomplete(line)]);
  if (ran.exit !== normal.ran.exit) return [`again: ${ran.exit} ${ran.err}`];
  return end.length > 0 ? [`again: ${end.join("; ")}`] : [];
}

/** Files that a command can do without: the task IDs of runs, which `wf stop` can get otherwise. */
const spare: Readonly<Record<string, RegExp>> = {
  "home/state/runs/TIME-ID.json": /home\/state\/runs/,
};

/** The files that the failed call may have prevented. */
const harmless = (hit: Told["hit"]): readonly string[] =>
  Object.keys(spare).filter((path) => spare[path]?.test(hit?.name ?? ""));

/** Those that a signal may leave incomplete. */
const incomplete = ({ partial }: Line): readonly string[] =>
  Object.keys(spare).filter((path) => partial?.test(path));

/** The entries of one that the other lacks. */
function differences(a: Look, b: Look, without: readonly string[] = []): string[] {
  const rows = (look: Look) => [
    ...look.server,
    ...[...look.files]
      .filter(([path]) => !without.includes(path))
      .map(([path, text]) => `${path}: ${text}`),
  ];
  const [here, there] = [rows(a), rows(b)];
  const short = (text: string) => text.slice(0, 300);
  return [
    ...here.filter((row) => !there.includes(row)).map((row) => `has ${short(row)}`),
    ...there.filter((row) => !here.includes(row)).map((row) => `lacks ${short(row)}`),
    ...(here.length === there.length ? [] : [`${here.length} things instead of ${there.length}`]),
  ];
}

const onceOnly = operations
  .filter((row) => retryOf(row) === "never")
  .map((row) => {
    const [method, path] = methodAndPath(row);
    return { method, path: new RegExp(`^/v1${path.replace(/\{\w+\}/g, "[^/]+")}$`) };
  });

const isOnce = ({ method, path }: ReceivedRequest) =>
  onceOnly.some((row) => row.method === method && row.path.test(path.replace(/\?.*/, "")));

const asText = ({ method, path, body, parts }: ReceivedRequest) =>
  same(
    `${method} ${path} ${
      parts.length > 0
        ? parts
            .map(({ name, bytes }) => `${name}=${Buffer.from(bytes).toString("latin1")}`)
            .join("&")
        : Buffer.from(body).toString("latin1")
    }`,
  );
