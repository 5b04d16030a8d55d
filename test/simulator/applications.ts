import { appKey } from "../../src/sandbox/protocol/ids.ts";
import type { SimulatedServer } from "./server.ts";

/** A run as the server has it. */
export interface StoredRun {
  readonly id: string;
  readonly log_id: string;
  readonly task_id: string;
  readonly session_id: string;
  readonly status: string;
  /** JSON. */
  readonly inputs: string;
  /** JSON. */
  readonly outputs: string;
  /** ms since 1970. */
  readonly created_at: number;
  readonly finished_at: number | null;
  /** JSON. */
  readonly progress: string;
}

/** The runs of an application, oldest first. */
export const runsOf = (server: SimulatedServer, app: string): StoredRun[] =>
  server.query("SELECT * FROM runs WHERE app = ? ORDER BY created_at, rowid", app);

/** A node as a run executed it. */
export interface StoredExecution {
  readonly id: string;
  readonly nodeId: string;
  readonly status: string;
}

const progressOf = ({ progress }: StoredRun) =>
  JSON.parse(progress) as { readonly executions: readonly StoredExecution[]; readonly lost?: true };

/** The nodes of a run, in the order in which they started. */
export const executionsOf = (run: StoredRun): readonly StoredExecution[] =>
  progressOf(run).executions;

/** The status of a run. Some servers leave the record of a stopped one at `running` (server §13). */
export const statusOf = (run: StoredRun): string => (isLost(run) ? "stopped" : run.status);

export const isLost = (run: StoredRun): boolean => progressOf(run).lost === true;

/** A form that a run waits for, or waited for. */
export interface StoredForm {
  readonly token: string;
  readonly status: string;
}

export const formsOf = (server: SimulatedServer, { id }: StoredRun): StoredForm[] =>
  server.query("SELECT token, status FROM forms WHERE run_id = ?", id);

/** What an application was asked. */
export interface StoredQuestion {
  readonly query: string;
  readonly run_id: string;
  readonly conversation_id: string | null;
  readonly answer: string | null;
}

/** What an application was asked, oldest first: the messages of a chat, or the runs of a workflow. */
export const questionsTo = (server: SimulatedServer, app: string): StoredQuestion[] =>
  server.query(
    `SELECT coalesce(messages.query, runs.inputs ->> 'query') AS query, runs.id AS run_id,
       runs.conversation_id, coalesce(messages.answer, runs.outputs ->> 'result') AS answer
     FROM runs LEFT JOIN messages ON messages.run_id = runs.id
     WHERE runs.app = ? ORDER BY runs.created_at, runs.rowid`,
    app,
  );

/** Starts a run as another program would, which then leaves. */
export async function startRun(
  server: SimulatedServer,
  app: string,
  inputs: Readonly<Record<string, unknown>>,
): Promise<void> {
  const left = new AbortController();
  const json = { inputs, user: "someone", response_mode: "streaming" };
  const request = { method: "POST", path: "/v1/workflows/run", json, key: appKey(app) };
  await server.send({ ...request, signal: left.signal });
  left.abort();
}

/** Stops a run as another program would; it ends a little later. */
export async function stopRun(server: SimulatedServer, app: string, run: StoredRun): Promise<void> {
  const path = `/v1/workflows/tasks/${run.task_id}/stop`;
  await server.call("POST", path, { user: run.session_id }, appKey(app));
}
