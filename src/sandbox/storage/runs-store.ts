import { asciiOnly } from "../http/response.ts";
import { newId } from "./ids.ts";
import type { Store } from "./sqlite.ts";

/** Tables of the application side. Times are ms since 1970, JSON is text. */
export const appSchema = `
CREATE TABLE IF NOT EXISTS end_users (
  id TEXT PRIMARY KEY, app TEXT NOT NULL, session_id TEXT NOT NULL, created_at INTEGER NOT NULL,
  UNIQUE (app, session_id)
);
CREATE TABLE IF NOT EXISTS runs (
  id TEXT PRIMARY KEY, app TEXT NOT NULL, end_user_id TEXT NOT NULL, session_id TEXT NOT NULL,
  task_id TEXT NOT NULL, log_id TEXT, conversation_id TEXT, message_id TEXT,
  status TEXT NOT NULL, inputs TEXT NOT NULL, outputs TEXT NOT NULL, error TEXT,
  created_at INTEGER NOT NULL, finished_at INTEGER, elapsed_time REAL NOT NULL,
  total_steps INTEGER NOT NULL, exceptions_count INTEGER NOT NULL, progress TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_app ON runs (app, created_at);
CREATE TABLE IF NOT EXISTS forms (
  token TEXT PRIMARY KEY, id TEXT NOT NULL, app TEXT NOT NULL, run_id TEXT NOT NULL,
  node_id TEXT NOT NULL, content TEXT NOT NULL, expires_at INTEGER NOT NULL,
  status TEXT NOT NULL, action TEXT, inputs TEXT
);
CREATE INDEX IF NOT EXISTS forms_by_run ON forms (run_id);
CREATE TABLE IF NOT EXISTS conversations (
  id TEXT PRIMARY KEY, app TEXT NOT NULL, end_user_id TEXT NOT NULL, name TEXT NOT NULL,
  inputs TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS messages (
  id TEXT PRIMARY KEY, position INTEGER NOT NULL, app TEXT NOT NULL,
  conversation_id TEXT NOT NULL, run_id TEXT NOT NULL, inputs TEXT NOT NULL,
  query TEXT NOT NULL, answer TEXT NOT NULL, status TEXT NOT NULL, files TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS messages_by_conversation ON messages (conversation_id, position);
CREATE TABLE IF NOT EXISTS conversation_variables (
  id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  description TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS feedbacks (
  id TEXT PRIMARY KEY, app TEXT NOT NULL, conversation_id TEXT NOT NULL,
  message_id TEXT NOT NULL, end_user_id TEXT NOT NULL, rating TEXT NOT NULL, content TEXT,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (message_id, end_user_id)
);
CREATE TABLE IF NOT EXISTS annotations (
  id TEXT PRIMARY KEY, app TEXT NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS annotation_jobs (id TEXT PRIMARY KEY, app TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS app_files (
  id TEXT PRIMARY KEY, app TEXT NOT NULL, end_user_id TEXT NOT NULL, name TEXT NOT NULL,
  type TEXT NOT NULL, bytes BLOB NOT NULL, created_at INTEGER NOT NULL
);`;

/** Outputs by node id; `sys` and `conversation` are there too. */
export type Variables = Record<string, Record<string, unknown>>;

/** One execution of a node, as snapshots show it. Times in ms, `elapsed` in seconds. */
export interface Execution {
  readonly id: string;
  readonly nodeId: string;
  readonly type: string;
  readonly title: string;
  startedAt: number;
  finishedAt: number | null;
  elapsed: number;
  status: string;
  readonly iteration: string | null;
  readonly loop: string | null;
}

/** How far a run has come: enough to go on after a pause, or after the sandbox was killed. */
export interface StoredProgress {
  /** Index of the node that runs or waits. */
  position: number;
  readonly variables: Variables;
  readonly executions: Execution[];
  steps: number;
  exceptions: number;
  /** Text that this segment of a chatflow has said. */
  said: string;
  /** Stopped without its record knowing: nothing goes on with it. */
  lost?: true;
}

/** States of a run as the server names them (server §7). */
export type StoredRunStatus =
  | "running"
  | "paused"
  | "succeeded"
  | "partial-succeeded"
  | "failed"
  | "stopped";

/** A run as it is stored; the engine changes it while it runs. */
export interface StoredRun {
  readonly id: string;
  readonly app: string;
  readonly endUserId: string;
  readonly user: string;
  readonly taskId: string;
  /** null for chatflows, which write no log (server §12). */
  readonly logId: string | null;
  readonly conversationId: string | null;
  readonly messageId: string | null;
  status: StoredRunStatus;
  /** What was sent, and the `sys.` fields. */
  readonly inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  error: string | null;
  readonly createdAt: number;
  finishedAt: number | null;
  /** Seconds of the last segment. */
  elapsed: number;
  totalSteps: number;
  exceptions: number;
  readonly progress: StoredProgress;
}

/** A form that a run waits for. */
export interface Form {
  readonly token: string;
  readonly id: string;
  readonly app: string;
  readonly runId: string;
  readonly nodeId: string;
  /** Text with the variables filled in, places of inputs left open. */
  readonly content: string;
  readonly expiresAt: number;
  readonly status: "waiting" | "submitted" | "expired";
  readonly action: string | null;
  readonly inputs: Record<string, unknown> | null;
}

/** Somebody who used an application with its key. */
export interface StoredEndUser {
  readonly id: string;
  readonly app: string;
  readonly session_id: string;
  readonly created_at: number;
}

/** A question in a chat and what was answered; JSON fields are text. */
export interface StoredMessage {
  readonly id: string;
  readonly position: number;
  readonly app: string;
  readonly conversation_id: string;
  readonly run_id: string;
  readonly inputs: string;
  readonly query: string;
  readonly answer: string;
  readonly status: "normal" | "paused";
  readonly files: string;
  readonly created_at: number;
}

interface RunRow {
  readonly id: string;
  readonly app: string;
  readonly end_user_id: string;
  readonly session_id: string;
  readonly task_id: string;
  readonly log_id: string | null;
  readonly conversation_id: string | null;
  readonly message_id: string | null;
  readonly status: StoredRunStatus;
  readonly inputs: string;
  readonly outputs: string;
  readonly error: string | null;
  readonly created_at: number;
  readonly finished_at: number | null;
  readonly elapsed_time: number;
  readonly total_steps: number;
  readonly exceptions_count: number;
  readonly progress: string;
}

type FormRow = Omit<Form, "runId" | "nodeId" | "expiresAt" | "inputs"> & {
  readonly run_id: string;
  readonly node_id: string;
  readonly expires_at: number;
  readonly inputs: string | null;
};

/** JSON as the server stores it: what is not ASCII is escaped, also for a search in it (server §12). */
const storedJson = (value: unknown): string => asciiOnly(JSON.stringify(value));

/** Reads and writes of runs, their forms, end users and messages. */
export type RunStore = ReturnType<typeof openRecords>;

/** Opens the records on a store that has `appSchema`; `now` gives ms since 1970. */
export function openRecords(store: Store, now: () => number, random: () => number) {
  return {
    store,
    now,
    random,

    /** The end user of that name, made on first sight (server §2). */
    endUser(app: string, session: string): StoredEndUser {
      const known = store.get<StoredEndUser>(
        "SELECT * FROM end_users WHERE app = ? AND session_id = ?",
        app,
        session,
      );
      if (known) return known;
      const user = { id: newId(random), app, session_id: session, created_at: now() };
      store.run(
        "INSERT INTO end_users VALUES (?, ?, ?, ?)",
        user.id,
        user.app,
        user.session_id,
        user.created_at,
      );
      return user;
    },

    addRun(run: StoredRun): void {
      store.run(
        `INSERT INTO runs VALUES (${"?, ".repeat(17)}?)`,
        run.id,
        run.app,
        run.endUserId,
        run.user,
        run.taskId,
        run.logId,
        run.conversationId,
        run.messageId,
        run.status,
        storedJson(run.inputs),
        storedJson(run.outputs),
        run.error,
        run.createdAt,
        run.finishedAt,
        run.elapsed,
        run.totalSteps,
        run.exceptions,
        JSON.stringify(run.progress),
      );
    },

    saveRun(run: StoredRun): void {
      store.run(
        `UPDATE runs SET status = ?, outputs = ?, error = ?, finished_at = ?, elapsed_time = ?,
         total_steps = ?, exceptions_count = ?, progress = ? WHERE id = ?`,
        run.status,
        storedJson(run.outputs),
        run.error,
        run.finishedAt,
        run.elapsed,
        run.totalSteps,
        run.exceptions,
        JSON.stringify(run.progress),
        run.id,
      );
    },

    /** A run of that application, or undefined. */
    run(app: string, id: string): StoredRun | undefined {
      const row = store.get<RunRow>("SELECT * FROM runs WHERE app = ? AND id = ?", app, id);
      return row && runFrom(row);
    },

    runsWith(status: StoredRunStatus): StoredRun[] {
      return store.all<RunRow>("SELECT * FROM runs WHERE status = ?", status).map(runFrom);
    },

    addForm(form: Form): void {
      store.run(
        "INSERT INTO forms VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        form.token,
        form.id,
        form.app,
        form.runId,
        form.nodeId,
        form.content,
        form.expiresAt,
        form.status,
        null,
        null,
      );
    },

    form(app: string, token: string): Form | undefined {
      const row = store.get<FormRow>("SELECT * FROM forms WHERE app = ? AND token = ?", app, token);
      return row && formFrom(row);
    },

    formsOf(runId: string): Form[] {
      return store
        .all<FormRow>("SELECT * FROM forms WHERE run_id = ? ORDER BY expires_at", runId)
        .map(formFrom);
    },

    waitingForms(): Form[] {
      return store.all<FormRow>("SELECT * FROM forms WHERE status = 'waiting'").map(formFrom);
    },

    closeForm(
      token: string,
      status: "submitted" | "expired",
      action: string | null,
      inputs: Record<string, unknown> | null,
    ): void {
      store.run(
        "UPDATE forms SET status = ?, action = ?, inputs = ? WHERE token = ?",
        status,
        action,
        inputs && JSON.stringify(inputs),
        token,
      );
    },

    message(app: string, id: string): StoredMessage | undefined {
      return store.get<StoredMessage>("SELECT * FROM messages WHERE app = ? AND id = ?", app, id);
    },

    /** Adds what a segment said. A resumed chatflow says its first text again (server §18). */
    addAnswer(messageId: string, text: string, status: StoredMessage["status"]): void {
      store.run(
        "UPDATE messages SET answer = answer || ?, status = ? WHERE id = ?",
        text,
        status,
        messageId,
      );
    },
  };
}

// Text columns hold what this file wrote: their shape is known.
const runFrom = (row: RunRow): StoredRun => ({
  id: row.id,
  app: row.app,
  endUserId: row.end_user_id,
  user: row.session_id,
  taskId: row.task_id,
  logId: row.log_id,
  conversationId: row.conversation_id,
  messageId: row.message_id,
  status: row.status,
  inputs: JSON.parse(row.inputs) as StoredRun["inputs"],
  outputs: JSON.parse(row.outputs) as StoredRun["outputs"],
  error: row.error,
  createdAt: row.created_at,
  finishedAt: row.finished_at,
  elapsed: row.elapsed_time,
  totalSteps: row.total_steps,
  exceptions: row.exceptions_count,
  progress: JSON.parse(row.progress) as StoredProgress,
});

const formFrom = (row: FormRow): Form => ({
  token: row.token,
  id: row.id,
  app: row.app,
  runId: row.run_id,
  nodeId: row.node_id,
  content: row.content,
  expiresAt: row.expires_at,
  status: row.status,
  action: row.action,
  inputs: row.inputs === null ? null : (JSON.parse(row.inputs) as Form["inputs"]),
});
