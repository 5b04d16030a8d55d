import { appKey } from "../../src/sandbox/http/auth.ts";
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
  readonly outputs: string;
  /** ms since 1970. */
  readonly created_at: number;
  readonly finished_at: number | null;
}

/** The runs of an application, oldest first. */
export const runsOf = (server: SimulatedServer, app: string): StoredRun[] =>
  server.query("SELECT * FROM runs WHERE app = ? ORDER BY created_at, rowid", app);

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
