import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listening } from "./listening.ts";
import { seeded } from "./seeded.ts";

type Answer = (url: URL, response: ServerResponse, request: IncomingMessage) => void;

/** A scripted server and the environment of commands that use it. */
export async function canned(answer: Answer) {
  const seen: URL[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    seen.push(url);
    answer(url, response, request);
  });
  const baseUrl = await listening(server);
  const env = {
    KB_BASE_URL: baseUrl,
    KB_KEY: "dataset-sandbox",
    KB_APP_KEY: "app-echo",
  };
  return { seen, env };
}

export const uuid = (number: number) =>
  `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;

/** One log row; its run has the same number in another ID format. */
export interface Log {
  readonly id: string;
  readonly created_at: number;
  status: string;
  /** Counted, but never returned. */
  readonly hidden?: true;
  /** Counted, but only returned for a window of at most three seconds. */
  readonly shy?: true;
}

/** Unix second of the first row, one hour before the server's clock. */
export const start = Date.parse("2026-11-21T10:00:00Z") / 1000;
export const clock = start + 3600;

/** Rows for a list of counts per second; every third run has failed. */
export const logsOf = (...counts: readonly number[]): Log[] =>
  counts
    .flatMap((count, second) => Array.from({ length: count }, () => start + second))
    .map((created_at, index) => ({
      id: uuid(index),
      created_at,
      status: statusOf(index),
    }));

function statusOf(index: number): string {
  if (index % 3 === 0) return "failed";
  return index % 7 === 0 ? "running" : "succeeded";
}

export const runOf = (id: string) => id.replace("-4000-", "-4001-");

interface Behaviour {
  /** Whether the order of rows in one second depends on the query only, or changes every time. */
  readonly order?: "fixed" | "changing";
  /** Unix second of the server's clock. */
  readonly now?: () => number;
  /** Called before each list response. */
  readonly before?: (url: URL) => void;
  /** Additional characters in each row. */
  readonly padding?: number;
  /** The application's name, in the inputs of runs and in `/info`. */
  readonly app?: { readonly name: string; readonly id: string; readonly mode?: string };
  /** Replaces the response; returns whether it did. */
  readonly instead?: (url: URL, response: ServerResponse) => boolean;
}

/**
 * Serves logs like the real server: sorted by second only, so pages miss rows and duplicate others
 * (server §12); also the details of each run and the application's name.
 */
export function logServer(
  logs: () => readonly Log[],
  seed: number,
  { order = "changing", now = () => clock, before, app, instead, padding = 0 }: Behaviour = {},
) {
  const random = seeded(seed);
  return canned((url, response) => {
    if (instead?.(url, response)) return;
    const json = (body: unknown, status = 200) => {
      response.statusCode = status;
      response.setHeader("date", new Date(now() * 1000).toUTCString());
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(body));
    };
    const value = (name: string) => url.searchParams.get(name);
    const [, run] = /\/workflows\/run\/(.*)$/.exec(url.pathname) ?? [];
    if (url.pathname.endsWith("/info")) {
      json({ name: app?.name ?? "echo", mode: app?.mode ?? "workflow", description: "", tags: [] });
    } else if (run !== undefined) {
      const log = logs().find(({ id }) => runOf(id) === run);
      if (log) json(detailOf(log, app?.id ?? uuid(1)));
      else json({ code: "not_found", message: "Workflow run not found.", status: 404 }, 404);
    } else {
      before?.(url);
      const number = (name: string, otherwise: number) => Number(value(name) ?? otherwise);
      const edge = (name: string, otherwise: number) =>
        value(name) === null ? otherwise : Date.parse(value(name) ?? "") / 1000;
      const [status, keyword] = [value("status"), value("keyword")];
      const found = logs().filter(
        (log) =>
          log.created_at >= edge("created_at__after", 0) &&
          log.created_at <= edge("created_at__before", Infinity) &&
          (status === null || log.status === status) &&
          (keyword === null || runOf(log.id) === keyword),
      );
      const isWide = edge("created_at__before", Infinity) - edge("created_at__after", 0) > 2;
      const [page, limit] = [number("page", 1), number("limit", 20)];
      const chance = order === "fixed" ? seeded(seed + page * 1000 + limit) : random;
      const data = found
        .map((log) => ({ log, chance: chance() }))
        .sort((a, b) => b.log.created_at - a.log.created_at || a.chance - b.chance)
        .map(({ log }) => log)
        .slice((page - 1) * limit, page * limit)
        .filter(({ hidden, shy }) => !hidden && !(shy && isWide))
        .map((log) => rowOf(log, padding));
      json({ page, limit, total: found.length, has_more: found.length > page * limit, data });
    }
  });
}

const ended = (status: string) => status !== "running" && status !== "paused";

const runFields = ({ id, status, created_at }: Log) => ({
  id: runOf(id),
  status,
  error: status === "failed" ? "no response from the model" : null,
  elapsed_time: ended(status) ? Number(id.slice(-2)) : 0,
  total_tokens: 10,
  total_steps: 3,
  created_at,
  finished_at: ended(status) ? created_at + 1 : null,
});

const rowOf = (log: Log, padding: number) => ({
  id: log.id,
  workflow_run: {
    ...runFields(log),
    version: "2026-11-21 00:02:02.696187",
    triggered_from: "app-run",
    exceptions_count: 0,
  },
  details: null,
  created_from: "service-api",
  created_by_role: "end_user",
  created_by_account: null,
  created_by_end_user: { id: uuid(2), type: "service-api", is_anonymous: false, session_id: "ann" },
  created_at: log.created_at,
  ...(padding > 0 && { padding: "x".repeat(padding) }),
});

const detailOf = (log: Log, app_id: string) => ({
  ...runFields(log),
  workflow_id: uuid(3),
  inputs: JSON.stringify({ query: `question ${Number(log.id.slice(-12))}`, "sys.app_id": app_id }),
  outputs: { answer: "42" },
});
