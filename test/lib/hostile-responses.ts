/** A server that sends recorded responses with hostile text in every string. */
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import type { RawHost } from "../../src/host/host.ts";
import { isSafe } from "./fuzzing/holds.ts";
import { answered, bodyText, exchanges, headersOf, rowFor } from "./recordings.ts";
import type { Exchange } from "./recordings.ts";
import { cli, temporaryDirectory } from "./support.ts";
import type { Ran, World } from "./support.ts";
import { wireFixtures } from "./wire-fixtures.ts";
import { listening } from "./listening.ts";

/** Sets the title, clears the screen in two ways, reverses the text direction and forges an error line. */
export const evil =
  "\u001b]0;evil\u0007\u001b[2J\u009b2J\u202e\u2066\rerror: EVIL\r\nerror: EVIL\0";

/** Fields that control what the programs do. */
const controlFields = /^(event|status|.*_status|mode|type|.*_type|doc_form|id|.*_id|reason)$/;

/** Appends a text to every string and adds a field; `sparing` keeps the control fields. */
export function poisoned(value: unknown, sparing: boolean, field = "", text = evil): unknown {
  if (typeof value === "string") return sparing && controlFields.test(field) ? value : value + text;
  if (Array.isArray(value)) return value.map((each) => poisoned(each, sparing, field, text));
  if (typeof value !== "object" || value === null) return value;
  const fields = Object.entries(value).map(([name, each]) => [
    name,
    poisoned(each, sparing, name, text),
  ]);
  return { ...Object.fromEntries(fields), [`field${text}`]: text };
}

function poisonedBody(exchange: Exchange, sparing: boolean): string {
  const text = bodyText(exchange);
  if (exchange.response.chunks) {
    return text.replace(/^data: (.*)$/gm, (line, data: string) =>
      data.startsWith("{") ? `data: ${JSON.stringify(poisoned(JSON.parse(data), sparing))}` : line,
    );
  }
  try {
    return JSON.stringify(poisoned(JSON.parse(text), sparing));
  } catch {
    return text + evil;
  }
}

function httpText(exchange: Exchange, sparing: boolean): Buffer {
  const body = Buffer.from(poisonedBody(exchange, sparing));
  const { "content-type": type = "application/json", "x-version": version } = headersOf(exchange);
  const head = [
    `HTTP/1.1 ${exchange.response.status} evil\u009b2J`,
    `content-type: ${type}`,
    `content-length: ${body.length}`,
    ...(version === undefined ? [] : [`x-version: ${version}\u009b2J`]),
    "x-request-id: evil\u009b2J",
    "location: http://127.0.0.1/\u009b2J",
    "connection: close",
  ];
  return Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}

const folder = await temporaryDirectory();
const file = join(folder, "a.md");
await writeFile(file, "text");

let current: { readonly exchange: Exchange; readonly sparing: boolean } | undefined;

const matches = (route: string, request: string) => {
  const [method = "", template = ""] = route.split(" ");
  const path = template.replace(/\{\w+\}/g, "[^/?]+");
  return new RegExp(`^${method} /v1${path}[? ]`).test(request);
};

/** Sends the current exchange if it fits the request, otherwise a recorded one that does, preferably of the same file. */
const server = createServer((request) => {
  request.resume().on("end", () => {
    if (!current) return void request.destroy();
    const { exchange, sparing } = current;
    const fits = (each: Exchange) => {
      const row = rowFor(each);
      return row !== undefined && matches(row.route, `${request.method} ${request.url} `);
    };
    const stream = exchange.response.chunks && /\/events\?/.test(request.url ?? "");
    const matchesCurrent = stream || rowFor(exchange) === undefined || fits(exchange);
    const [file] = exchange.name.split(":");
    const beside = answered.filter(({ name }) => name.startsWith(`${file}:`));
    const other = matchesCurrent ? undefined : (beside.find(fits) ?? answered.find(fits));
    request.socket.end(httpText(other ?? exchange, sparing));
  });
});
const baseUrl = await listening(server);

/** Counts how often the harmless part of the hostile text was printed. */
export const countHostile = (text: string): number => text.split("evil").length - 1;

/** The command for the operation of an exchange. */
export function lineFor(exchange: Exchange): readonly string[] {
  const line = wireFixtures.get(rowFor(exchange)?.id ?? "")?.cases[0]?.line ?? ["kb", "list"];
  return line.map((word) => word.replace(/\{file:.*\}/, file));
}

/** The exchange of that name; throws if there is none. */
export function exchangeNamed(name: string): Exchange {
  const found = exchanges.find((each) => each.name === name);
  if (!found) throw new Error(`no exchange named ${name}`);
  return found;
}

/** Runs a command against the server, which sends the response of this exchange. */
function run(
  exchange: Exchange,
  sparing: boolean,
  line: readonly string[],
  world: World,
): Promise<Ran> {
  current = { exchange, sparing };
  // A document whose status is hostile text is waited for until half an hour has passed without progress.
  let slept = 0;
  const around = (host: RawHost): RawHost => ({
    ...host,
    elapsed: () => host.elapsed() + slept,
    async sleep(ms, signal) {
      await host.sleep(ms, signal);
      slept += ms;
    },
  });
  return cli(line, {
    env: {
      KB_BASE_URL: baseUrl,
      KB_KEY: "dataset-x",
      KB_APP_KEY: "app-x",
      KB_RETRIES: "0",
      NO_COLOR: "1",
    },
    signal: AbortSignal.timeout(300_000), // only a command that hangs
    folder,
    around,
    ...world,
  });
}

/** Runs a command on a pipe; control fields are unchanged. */
export const runOnPipe = (exchange: Exchange, line: readonly string[]): Promise<Ran> =>
  run(exchange, true, line, {});

/**
 * Runs a command on a terminal. Throws if the output contains control sequences of the response or
 * an error line forged by it.
 */
export async function runOnTerminal(
  exchange: Exchange,
  sparing: boolean,
  line = lineFor(exchange),
  answers: readonly string[] = ["y", "y", "y"],
): Promise<Ran & { readonly asked: string }> {
  const questions: string[] = [];
  const ran = await run(exchange, sparing, line, { tty: true, columns: 60, answers, questions });
  const asked = questions.join("\n");
  // Line ends and tabs belong to the format; on stdout, strings may span lines.
  isSafe(ran.out.replace(/\r\n|\t/g, "\n"));
  isSafe(ran.err);
  for (const question of questions) isSafe(question);
  const forged = /^error: EVIL/m.exec(`${ran.err}\n${asked}`);
  if (forged) throw new Error(`the response forged an error line: ${ran.err}${asked}`);
  return { ...ran, asked };
}
