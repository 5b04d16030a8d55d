/** Runs commands against responses in which one field is damaged. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { exitCodes } from "../../src/errors.ts";
import type { Answered } from "./answering.ts";
import { damaged, mutationsOf } from "./mutations.ts";
import type { Mutation } from "./mutations.ts";
import { cli, temporaryDirectory } from "./support.ts";
import type { Ran, World } from "./support.ts";
import { listening } from "./listening.ts";

/** A command and the responses it got. */
export interface Scene {
  readonly name: string;
  /** `out`: a directory for its output files. */
  readonly argv: (out: string) => readonly string[];
  readonly answers: readonly Answered[];
  readonly world?: World;
  /** Responses to other requests. */
  readonly besides?: (request: string) => Answered | undefined;
  /** Paths of fields without which the command must not exit with 0. */
  readonly vital?: readonly string[];
  /** Interrupts a command that does not end by itself after this many requests. */
  readonly until?: number;
}

/** One mutation in one response of a scene; in an event stream, in one event. */
export interface Trial {
  readonly answer: number;
  readonly event?: number;
  readonly mutation: Mutation;
}

/** Every mutation of every response of a scene. */
export function trialsOf(scene: Scene): Trial[] {
  return scene.answers.flatMap((answered, answer) => {
    const mutable = valuesIn(answered);
    return mutable.flatMap(({ value, event }) =>
      mutationsOf(value).map((mutation) => ({
        answer,
        ...(event !== undefined && { event }),
        mutation,
      })),
    );
  });
}

interface Part {
  readonly value: unknown;
  readonly event?: number;
}

/** The prefix of each JSON value in a response of several values; undefined for a single value. */
function markOf({ headers }: Answered): string | undefined {
  const type = headers["content-type"] ?? "";
  if (type.includes("ndjson")) return "";
  return type.includes("event-stream") ? "data: " : undefined;
}

const linesAfter = (mark: string) => new RegExp(`^${mark}(.+)$`, "gm");

/** The JSON values of a response; of events, the first and the last of each kind. */
function valuesIn(answered: Answered): Part[] {
  const text = answered.body.toString();
  const mark = markOf(answered);
  if (mark !== undefined) {
    const events = eventsOf(text, mark);
    const kinds = events.map(({ event }) => event);
    return events
      .map(({ value, event }, at) => ({ value, event: at, kind: event }))
      .filter(
        ({ event, kind }) => kinds.indexOf(kind) === event || kinds.lastIndexOf(kind) === event,
      )
      .map(({ value, event }) => ({ value, event }));
  }
  try {
    return [{ value: JSON.parse(text) as unknown }];
  } catch {
    return [];
  }
}

const eventsOf = (text: string, mark: string): { value: unknown; event: unknown }[] =>
  [...text.matchAll(linesAfter(mark))].map(([, data = ""]) => {
    const value = JSON.parse(data) as { event?: unknown }; // recorded events are objects
    const { event } = value;
    // A recording wraps its events.
    const inner = typeof event === "object" ? (event as { event?: unknown } | null)?.event : event;
    return { value, event: inner };
  });

/** The body of a response with the mutation. */
export function damagedBody(answered: Answered, { event, mutation }: Trial): Buffer {
  const text = answered.body.toString();
  const mark = markOf(answered);
  if (mark === undefined) return Buffer.from(damaged(JSON.parse(text), mutation));
  let at = 0;
  return Buffer.from(
    text.replace(linesAfter(mark), (line, data: string) =>
      at++ === event ? `${mark}${damaged(JSON.parse(data), mutation)}` : line,
    ),
  );
}

interface Playing {
  readonly scene: Scene;
  readonly trial: Trial | undefined;
  readonly sent: string[];
  readonly stop: AbortController;
}
let playing: Playing;

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const { scene, sent, stop } = playing;
    const asked = `${request.method} ${request.url}`;
    const before = sent.filter((each) => each === asked).length;
    sent.push(asked);
    if (sent.length === scene.until) stop.abort();
    if (sent.length > maxRequests(scene)) return void request.socket.destroy();
    const found = answerFor(scene, asked, before);
    const answered = scene.answers[found] ?? scene.besides?.(asked);
    if (!answered) {
      response.writeHead(404, { "content-type": "application/json" });
      return response.end('{"code":"not_found","message":"Not here.","status":404}');
    }
    const body = bodyIn(playing, found) ?? answered.body;
    response.writeHead(answered.status, { ...answered.headers, "content-length": body.length });
    return response.end(body);
  });
});
const baseUrl = await listening(server);

/** The body that is sent for a response of the scene. */
function bodyIn({ scene, trial }: Playing, at: number): Buffer | undefined {
  const answered = scene.answers[at];
  return answered && trial?.answer === at ? damagedBody(answered, trial) : answered?.body;
}

const maxRequests = (scene: Scene): number => 20 * scene.answers.length + 1100;

/** The index of the n-th response to this request, else its last, else one to the same path. */
function answerFor({ answers }: Scene, asked: string, before: number): number {
  const path = (request: string) => request.replace(/\?.*/, "");
  const at = (fits: (request: string) => boolean) =>
    answers.flatMap(({ request }, index) => (fits(request) ? [index] : []));
  const same = at((request) => request === asked);
  const found = same.length > 0 ? same : at((request) => path(request) === path(asked));
  return found[Math.min(before, found.length - 1)] ?? -1;
}

const root = await temporaryDirectory();
let runs = 0;

/** The result of a run. */
export interface Played {
  readonly ran: Ran;
  /** Requests in the order received. */
  readonly sent: readonly string[];
  /** The number of files in its output directory. */
  readonly written: number;
  readonly hung: boolean;
}

/** Runs the command of a scene, with or without a mutation. */
export async function played(scene: Scene, trial?: Trial): Promise<Played> {
  const folder = join(root, String(runs++));
  await mkdir(folder);
  playing = { scene, trial, sent: [], stop: new AbortController() };
  for (const [at, { request }] of scene.answers.entries()) {
    const body = bodyIn(playing, at);
    // Files that the command reads are listed among the responses.
    if (body && request.startsWith("FILE ")) await writeFile(join(folder, request.slice(5)), body);
  }
  const late = AbortSignal.timeout(300_000); // only a command that hangs
  const signal = AbortSignal.any([late, playing.stop.signal]);
  let slept = 0;
  const ran = await cli(scene.argv(join(folder, "out")), {
    folder: join(folder, "home"),
    signal,
    now: () => new Date(Date.now() + slept),
    around: (host) => ({
      ...host,
      sleep: (ms, until) => host.sleep(ms, until).then(() => void (slept += ms)),
    }),
    ...scene.world,
    env: {
      KB_BASE_URL: baseUrl,
      KB_KEY: "dataset-x",
      KB_APP_KEY: "app-x",
      KB_RETRIES: "0",
      KB_KEEP_ERRORS: "0",
      ...scene.world?.env,
    },
  });
  const written = (await readdir(join(folder, "out"), { recursive: true }).catch(() => [])).length;
  await rm(folder, { recursive: true, force: true });
  return { ran, sent: playing.sent, written, hung: late.aborted };
}

const codes: readonly number[] = Object.values(exitCodes).map(([code]) => code);
/** Requests that change something: downloads use POST without a change, and binding a tag is idempotent. */
const writes = (sent: readonly string[]) =>
  sent.filter((each) => !/^GET |\/download-zip$|\/tags\/binding$/.test(each));

/** Describes everything that is wrong with the result of a command after a mutation. */
export async function complaints(scene: Scene, normal: Played, trial: Trial): Promise<string[]> {
  const { ran, sent, written, hung } = await played(scene, trial);
  const found = wrong(scene, normal.ran.exit, trial, ran);
  if (hung || sent.length > maxRequests(scene)) found.push("does not end");
  if (ran.exit === 0 && written < normal.written) found.push("wrote too few files");
  const known = writes(normal.sent);
  for (const each of new Set(writes(sent))) {
    const times = (list: readonly string[]) => list.filter((other) => other === each).length;
    // A form that is still open after its response was lost is submitted again; a metadata field that
    // the damaged list does not have is created.
    const isUnlisted = scene.answers[trial.answer]?.request === each.replace("POST", "GET");
    const max = Math.max(times(known) + (isUnlisted ? 1 : 0), each.includes("/form/") ? 2 : 1);
    if (times(writes(sent)) > max) found.push(`sent too often: ${each}`);
    // Any string may be an ID.
    const strange = /^(DELETE |POST \/v1\/datasets$)/.test(each) && !known.includes(each);
    if (strange && trial.mutation.how !== "a text") found.push(`unexpected request: ${each}`);
  }
  return found;
}

function wrong(
  { vital = [] }: Scene,
  normal: number,
  { mutation }: Trial,
  { exit, out, err }: Ran,
): string[] {
  const found: string[] = [];
  const text = `${out}\n${err}`;
  if (!codes.includes(exit)) found.push(`unknown exit code ${exit}`);
  if (/internal error:|^ +at /m.test(err)) found.push("reported an internal error");
  const nonsense = /\bundefined\b|\[object |\bNaN\b|Invalid Date/.exec(text);
  if (nonsense) found.push(`printed ${nonsense[0]}`);
  if (exit !== 0 && exit !== normal && err === "") found.push("failed without a message");
  if (exit !== 0 && /"error":\{"code"/.test(err)) {
    try {
      JSON.parse(err.trim().split("\n").at(-1) ?? "");
    } catch {
      found.push("printed an error that is not JSON");
    }
  }
  const lost = vital.some((path) => path.startsWith(mutation.path.join(".")));
  if (exit === 0 && normal === 0 && lost && mutation.how !== "a text") {
    found.push("exited with 0 although a required field is missing");
  }
  return found;
}
