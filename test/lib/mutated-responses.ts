/** Command lines against answers of a server in which one field is damaged. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll } from "vitest";
import { exitCodes } from "../../src/errors.ts";
import type { Answered } from "./answering.ts";
import { damaged, mutationsOf } from "./mutations.ts";
import type { Mutation } from "./mutations.ts";
import { cli, temporaryFolder } from "./support.ts";
import type { Ran, World } from "./support.ts";

/** A command line and what it was answered. */
export interface Scene {
  readonly name: string;
  /** `out`: a folder for what it writes. */
  readonly argv: (out: string) => readonly string[];
  readonly answers: readonly Answered[];
  readonly world?: World;
  /** Answers to requests that are none of them. */
  readonly besides?: (request: string) => Answered | undefined;
  /** Paths of what must never end with 0 when it is no text any more. */
  readonly vital?: readonly string[];
  /** After so many requests the line is interrupted: it has no end of its own. */
  readonly until?: number;
}

/** One damage in one answer of a scene; of an event stream, in one of its events. */
export interface Trial {
  readonly answer: number;
  readonly event?: number;
  readonly mutation: Mutation;
}

/** Every damage of every answer of a scene. */
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

/** What stands before each JSON value of an answer that holds several; undefined where it is one. */
function markOf({ headers }: Answered): string | undefined {
  const type = headers["content-type"] ?? "";
  if (type.includes("ndjson")) return "";
  return type.includes("event-stream") ? "data: " : undefined;
}

const linesAfter = (mark: string) => new RegExp(`^${mark}(.+)$`, "gm");

/** The JSON of an answer; of several values the first and the last event of each kind. */
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

/** The body of an answer with the damage. */
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
    if (sent.length > mostFor(scene)) return void request.socket.destroy();
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
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
afterAll(() => void server.close());
const { port } = server.address() as AddressInfo; // a TCP server has no other kind

/** An answer of the scene as it is given. */
function bodyIn({ scene, trial }: Playing, at: number): Buffer | undefined {
  const answered = scene.answers[at];
  return answered && trial?.answer === at ? damagedBody(answered, trial) : answered?.body;
}

const mostFor = (scene: Scene): number => 20 * scene.answers.length + 1100;

/** The n-th answer to this request, else its last; else one to the same path. */
function answerFor({ answers }: Scene, asked: string, before: number): number {
  const path = (request: string) => request.replace(/\?.*/, "");
  const at = (fits: (request: string) => boolean) =>
    answers.flatMap(({ request }, index) => (fits(request) ? [index] : []));
  const same = at((request) => request === asked);
  const found = same.length > 0 ? same : at((request) => path(request) === path(asked));
  return found[Math.min(before, found.length - 1)] ?? -1;
}

const root = await temporaryFolder();
let runs = 0;

/** A line that was run. */
export interface Played {
  readonly ran: Ran;
  /** Requests as they came. */
  readonly sent: readonly string[];
  /** How many files it wrote where a scene lets it write. */
  readonly written: number;
  readonly hung: boolean;
}

/** Runs the line of a scene with one damage, or none. */
export async function played(scene: Scene, trial?: Trial): Promise<Played> {
  const folder = join(root, String(runs++));
  await mkdir(folder);
  playing = { scene, trial, sent: [], stop: new AbortController() };
  for (const [at, { request }] of scene.answers.entries()) {
    const body = bodyIn(playing, at);
    // A file that the line reads stands among the answers.
    if (body && request.startsWith("FILE ")) await writeFile(join(folder, request.slice(5)), body);
  }
  const late = AbortSignal.timeout(20_000);
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
      KB_BASE_URL: `http://127.0.0.1:${port}/v1`,
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
/** What changes something: a download is asked for with POST, and to bind a tag again is nothing. */
const writes = (sent: readonly string[]) =>
  sent.filter((each) => !/^GET |\/download-zip$|\/tags\/binding$/.test(each));

/** What is wrong with how a line ended that read a damaged answer, in words. */
export async function complaints(scene: Scene, usual: Played, trial: Trial): Promise<string[]> {
  const { ran, sent, written, hung } = await played(scene, trial);
  const found = wrong(scene, usual.ran.exit, trial, ran);
  if (hung || sent.length > mostFor(scene)) found.push("it does not end");
  if (ran.exit === 0 && written < usual.written) found.push("it wrote fewer files than it should");
  const known = writes(usual.sent);
  for (const each of new Set(writes(sent))) {
    const times = (list: readonly string[]) => list.filter((other) => other === each).length;
    // A form that is still open after its answer was lost is answered again.
    const most = Math.max(times(known), each.includes("/form/") ? 2 : 1);
    if (times(writes(sent)) > most) found.push(`sent too often: ${each}`);
    // A text is an id as good as another.
    const strange = /^(DELETE |POST \/v1\/datasets$)/.test(each) && !known.includes(each);
    if (strange && trial.mutation.how !== "a text") found.push(`nobody wanted ${each}`);
  }
  return found;
}

function wrong(
  { vital = [] }: Scene,
  usual: number,
  { mutation }: Trial,
  { exit, out, err }: Ran,
): string[] {
  const found: string[] = [];
  const text = `${out}\n${err}`;
  if (!codes.includes(exit)) found.push(`there is no exit code ${exit}`);
  if (/internal error:|^ +at /m.test(err)) found.push("it speaks of a bug");
  const nonsense = /\bundefined\b|\[object |\bNaN\b|Invalid Date/.exec(text);
  if (nonsense) found.push(`it says ${nonsense[0]}`);
  if (exit !== 0 && exit !== usual && err === "") found.push("it says nothing");
  if (exit !== 0 && /"error":\{"code"/.test(err)) {
    try {
      JSON.parse(err.trim().split("\n").at(-1) ?? "");
    } catch {
      found.push("its error is no JSON");
    }
  }
  const lost = vital.some((path) => path.startsWith(mutation.path.join(".")));
  if (exit === 0 && usual === 0 && lost && mutation.how !== "a text") {
    found.push("it claims success");
  }
  return found;
}
