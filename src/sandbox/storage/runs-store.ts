import { asciiOnly } from "../http/response.ts";
import { newId } from "./ids.ts";
import type { Store } from "./sqlite.ts";

/** Tables of the applications. Times are ms since 1970, JSON is text. */
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

/** Outputs by node ID, and the variables of `sys` and `conversation`. */
export type Variables = Record<string, Record<string, unknown>>;

/** One execution of a node, as snapshots report it. Times in ms, `elapsed` in seconds. */
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

/** The progress of a run: enough to continue after a pause or a restart of the sandbox. */
export interface StoredProgress {
  /** Index of the node that runs or waits. */
  position: number;
  readonly variables: Variables;
  readonly executions: Execution[];
  steps: number;
  exceptions: number;
  /** Text of this segment of a chatflow so far. */
  said: string;
  /** Stopped, but the record still reads `running`; the run is never resumed. */
  lost?: true;
}

/** The states of a run (server §7). */
export type StoredRunStatus =
  | "running"
  | "paused"
  | "succeeded"
  | "partial-succeeded"
  | "failed"
  | "stopped";

/** A stored run; the engine updates it while it runs. */
export interface StoredRun {
  readonly id: string;
  readonly app: string;
  readonly end_user_id: string;
  readonly session_id: string;
  readonly task_id: string;
  /** null for chatflows, which write no log (server §12). */
  readonly log_id: string | null;
  readonly conversation_id: string | null;
  readonly message_id: string | null;
  status: StoredRunStatus;
  /** The inputs of the request and the `sys.` fields. */
  readonly inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
  error: string | null;
  readonly created_at: number;
  finished_at: number | null;
  /** Seconds of the last segment. */
  elapsed_time: number;
  total_steps: number;
  exceptions_count: number;
  readonly progress: StoredProgress;
}

/** A form that a run is waiting for. */
export interface StoredForm {
  readonly token: string;
  readonly id: string;
  readonly app: string;
  readonly run_id: string;
  readonly node_id: string;
  /** Text with the variables filled in and the placeholders of inputs left open. */
  readonly content: string;
  readonly expires_at: number;
  readonly status: "waiting" | "submitted" | "expired";
  readonly action: string | null;
  readonly inputs: Record<string, unknown> | null;
}

/** A user of an application. */
export interface StoredEndUser {
  readonly id: string;
  readonly app: string;
  readonly session_id: string;
  readonly created_at: number;
}

/** A chat message with its reply; JSON fields are text. */
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

/** What a new run needs; chatflows also set the conversation and message. */
export type NewRun = Pick<StoredRun, "id" | "app" | "inputs"> &
  Partial<Pick<StoredRun, "log_id" | "conversation_id" | "message_id">> & {
    readonly endUser: StoredEndUser;
    readonly variables: Variables;
  };

type RunRow = Omit<StoredRun, "inputs" | "outputs" | "progress"> &
  Readonly<Record<"inputs" | "outputs" | "progress", string>>;

type FormRow = Omit<StoredForm, "inputs"> & { readonly inputs: string | null };

/** JSON in the server's spelling: non-ASCII is escaped, which a search in it also sees (server §12). */
const storedJson = (value: unknown): string => asciiOnly(JSON.stringify(value));

/** Runs with their forms, end users and messages, on a store that has `appSchema`. */
export class RunStore {
  readonly store: Store;
  /** ms since 1970. */
  readonly now: () => number;
  readonly random: () => number;

  constructor(store: Store, now: () => number, random: () => number) {
    this.store = store;
    this.now = now;
    this.random = random;
  }

  readonly newId = (): string => newId(this.random);

  /** Returns the end user with that name, created on first use (server §2). */
  endUser(app: string, session: string): StoredEndUser {
    const sql = "SELECT * FROM end_users WHERE app = ? AND session_id = ?";
    const known = this.store.get<StoredEndUser>(sql, app, session);
    if (known) return known;
    const user = { id: this.newId(), app, session_id: session, created_at: this.now() };
    this.store.insert("end_users", user);
    return user;
  }

  /** Stores a run that has not started yet. */
  addRun({ endUser, variables, ...run }: NewRun): StoredRun {
    const added: StoredRun = {
      log_id: null,
      conversation_id: null,
      message_id: null,
      ...run,
      end_user_id: endUser.id,
      session_id: endUser.session_id,
      task_id: this.newId(),
      status: "running",
      outputs: {},
      error: null,
      created_at: this.now(),
      finished_at: null,
      elapsed_time: 0,
      total_steps: 0,
      exceptions_count: 0,
      progress: { position: 0, variables, executions: [], steps: 0, exceptions: 0, said: "" },
    };
    this.store.insert("runs", runRow(added));
    return added;
  }

  saveRun(run: StoredRun): void {
    const { id, ...row } = runRow(run);
    this.store.update("runs", id, row);
  }

  /** Returns a run of that application. */
  run(app: string, id: string): StoredRun | undefined {
    const row = this.store.get<RunRow>("SELECT * FROM runs WHERE app = ? AND id = ?", app, id);
    return row && parseRun(row);
  }

  runsWith(status: StoredRunStatus): StoredRun[] {
    return this.store.all<RunRow>("SELECT * FROM runs WHERE status = ?", status).map(parseRun);
  }

  addForm(form: StoredForm): void {
    this.store.insert("forms", { ...form, inputs: form.inputs && JSON.stringify(form.inputs) });
  }

  form(app: string, token: string): StoredForm | undefined {
    const sql = "SELECT * FROM forms WHERE app = ? AND token = ?";
    const row = this.store.get<FormRow>(sql, app, token);
    return row && parseForm(row);
  }

  formsOf(runId: string): StoredForm[] {
    const sql = "SELECT * FROM forms WHERE run_id = ? ORDER BY expires_at";
    return this.store.all<FormRow>(sql, runId).map(parseForm);
  }

  waitingForms(): StoredForm[] {
    return this.store.all<FormRow>("SELECT * FROM forms WHERE status = 'waiting'").map(parseForm);
  }

  submitForm(token: string, action: string, inputs: Record<string, unknown>): void {
    const sql = "UPDATE forms SET status = 'submitted', action = ?, inputs = ? WHERE token = ?";
    this.store.run(sql, action, JSON.stringify(inputs), token);
  }

  expireForm(token: string): void {
    this.store.run("UPDATE forms SET status = 'expired' WHERE token = ?", token);
  }

  message(app: string, id: string): StoredMessage | undefined {
    const sql = "SELECT * FROM messages WHERE app = ? AND id = ?";
    return this.store.get<StoredMessage>(sql, app, id);
  }

  /** Saves a run at the end of a segment, and appends the segment's text to its message. */
  saveSegment(run: StoredRun, messageStatus: StoredMessage["status"]): void {
    this.store.transaction(() => {
      this.saveRun(run);
      // A resumed chatflow repeats its first text (server §18).
      const sql = "UPDATE messages SET answer = answer || ?, status = ? WHERE id = ?";
      this.store.run(sql, run.progress.said, messageStatus, run.message_id);
    });
  }
}

const runRow = (run: StoredRun): RunRow => ({
  ...run,
  inputs: storedJson(run.inputs),
  outputs: storedJson(run.outputs),
  progress: JSON.stringify(run.progress),
});

// These columns hold JSON that this class wrote.
const parseRun = (row: RunRow): StoredRun => ({
  ...row,
  inputs: JSON.parse(row.inputs) as StoredRun["inputs"],
  outputs: JSON.parse(row.outputs) as StoredRun["outputs"],
  progress: JSON.parse(row.progress) as StoredProgress,
});

const parseForm = (row: FormRow): StoredForm => ({
  ...row,
  inputs: row.inputs === null ? null : (JSON.parse(row.inputs) as StoredForm["inputs"]),
});
