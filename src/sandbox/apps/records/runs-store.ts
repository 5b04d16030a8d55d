import type { RuleAnswer } from "../../models/language-model.ts";
import type { Usage } from "../../models/tokens.ts";
import type { Basics } from "../../storage/sqlite.ts";
import { column, defineTable, columnsAs, openTables, type RecordOf } from "../../storage/table.ts";

const { key, text, integer, json, oneOf, optional } = column;

type JsonObject = Record<string, unknown>;

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
  /** The branch that the run took after it; null for the only one. */
  handle: string | null;
  readonly iteration: string | null;
  readonly loop: string | null;
}

/** The progress of a run: enough to continue after a pause or a restart of the sandbox. */
interface StoredProgress {
  readonly variables: Variables;
  readonly executions: Execution[];
  steps: number;
  exceptions: number;
  /** Tokens and prices of all models so far; none without a model. */
  usage?: Usage;
  /** Of an application with rules: its answer. */
  drawn?: RuleAnswer;
  /** The passages that were found. */
  citations?: readonly Citation[];
  /** Text of this segment of a chatflow so far. */
  said: string;
  /** Stopped, but the record still reads `running`; the run is never resumed. */
  lost?: true;
}

/** A chunk that a model was given for its answer. */
export interface Citation extends Readonly<Record<string, unknown>> {
  readonly segment_id: string;
}

/** A round of an agent: what it said, and the tool that it called. */
export interface StoredThought {
  readonly id: string;
  readonly position: number;
  thought: string;
  /** What it said, which servers report since 1.16. */
  answer: string;
  /** Empty without a call. */
  tool: string;
  /** Names of the tool by tool and language. */
  tool_labels: JsonObject;
  /** JSON with the input of the tool. */
  tool_input: string;
  observation: string;
  readonly created_at: number;
}

/** The states of a run (server §7). */
type RunStatus = "running" | "paused" | "succeeded" | "partial-succeeded" | "failed" | "stopped";

/** Tables of the applications. Times are ms since 1970. */
const definitions = {
  end_users: defineTable(
    { id: key, ...columnsAs(text, "app", "session_id"), created_at: integer },
    { indexes: ["app, session_id"] },
  ),
  runs: defineTable(
    {
      id: key,
      ...columnsAs(text, "app", "end_user_id", "session_id", "task_id"),
      // The log of a chatflow is null (server §12), as are the IDs of a workflow.
      ...columnsAs(optional(text), "log_id", "conversation_id", "message_id", "error"),
      status: oneOf<RunStatus>(),
      /** The inputs of the request and the `sys.` fields. */
      ...columnsAs(json<JsonObject>(), "inputs", "outputs"),
      created_at: integer,
      finished_at: optional(integer),
      /** Seconds of the last segment. */
      elapsed_time: column.real,
      ...columnsAs(integer, "total_steps", "total_tokens", "exceptions_count"),
      progress: json<StoredProgress>(),
    },
    { indexes: ["app, created_at"] },
  ),
  /** Forms that runs wait for, or waited for. */
  forms: defineTable(
    {
      token: key,
      ...columnsAs(text, "id", "app", "run_id", "node_id"),
      /** Text with the variables filled in and the placeholders of inputs left open. */
      content: text,
      expires_at: integer,
      status: oneOf<"waiting" | "submitted" | "expired">(),
      action: optional(text),
      inputs: optional(json<JsonObject>()),
    },
    { indexes: ["run_id"] },
  ),
  conversations: defineTable({
    id: key,
    ...columnsAs(text, "app", "end_user_id", "name"),
    inputs: json<JsonObject>(),
    ...columnsAs(integer, "created_at", "updated_at"),
  }),
  /** Chat messages with their replies. The run is empty in basic applications, which have none. */
  messages: defineTable(
    {
      id: key,
      position: integer,
      ...columnsAs(text, "app", "conversation_id", "run_id", "query", "answer"),
      inputs: json<JsonObject>(),
      status: oneOf<"normal" | "paused" | "error">(),
      error: optional(text),
      /** The sources of the answer as `message_end` reports them; null for none. */
      citations: optional(json<readonly Citation[]>()),
      /** The rounds of an agent; null for others. */
      thoughts: optional(json<readonly StoredThought[]>()),
      /** What the answer of a basic application used; null if it failed or was stopped. */
      usage: optional(json<Usage>()),
      files: json<readonly { readonly related_id?: string }[]>(),
      created_at: integer,
    },
    { indexes: ["conversation_id, position"] },
  ),
  conversation_variables: defineTable({
    id: key,
    ...columnsAs(text, "conversation_id", "name", "value", "description"),
    ...columnsAs(integer, "created_at", "updated_at"),
  }),
  feedbacks: defineTable(
    {
      id: key,
      ...columnsAs(text, "app", "conversation_id", "message_id", "end_user_id", "rating"),
      content: optional(text),
      ...columnsAs(integer, "created_at", "updated_at"),
    },
    { constraint: "UNIQUE (message_id, end_user_id)" },
  ),
  annotations: defineTable({
    id: key,
    ...columnsAs(text, "app", "question", "answer"),
    ...columnsAs(integer, "hit_count", "created_at"),
  }),
  /** Jobs that switch annotation replies on and off. */
  annotation_jobs: defineTable({
    id: key,
    ...columnsAs(text, "app", "provider", "model"),
    action: oneOf<"enable" | "disable">(),
    /** The least similarity of the questions. */
    threshold: column.real,
    /** When it ends; null for never. */
    due_at: optional(integer),
    error: optional(text),
  }),
  app_files: defineTable({
    id: key,
    ...columnsAs(text, "app", "end_user_id", "name", "type"),
    bytes: column.bytes,
    created_at: integer,
  }),
};

type Row<Name extends keyof typeof definitions> = RecordOf<(typeof definitions)[Name]>;

/** A stored run; the engine updates it while it runs. */
export type StoredRun = { -readonly [Name in keyof Row<"runs">]: Row<"runs">[Name] };
export type StoredForm = Row<"forms">;
export type StoredEndUser = Row<"end_users">;
export type StoredConversation = Row<"conversations">;
export type StoredMessage = Row<"messages">;
export type StoredAnnotation = Row<"annotations">;
export type StoredReplyJob = Row<"annotation_jobs">;
export type StoredFile = Row<"app_files">;

export type RunStore = ReturnType<typeof openRunStore>;

/** Opens the tables of the applications. */
export function openRunStore(basics: Basics) {
  const { store, clock, random, newId } = basics;
  /** ms since 1970. */
  const now = () => clock.now().getTime();
  const tables = openTables(basics, definitions);
  const { end_users, runs, messages } = tables;

  /** The newest one with that name; with a fault there are several. */
  const findEndUser = (app: string, session_id: string): StoredEndUser | undefined =>
    end_users.list({ app, session_id }, "rowid DESC LIMIT 1")[0];

  const addEndUser = (app: string, session_id: string) => end_users.insert({ app, session_id });

  const saveRun = ({ id, ...row }: StoredRun): void => runs.update({ id }, row);

  return {
    ...tables,
    store,
    now,
    random,
    newId,

    findEndUser,
    addEndUser,

    /** Returns the end user with that name, created on first use (server §2.1). */
    endUser: (app: string, session_id: string): StoredEndUser =>
      findEndUser(app, session_id) ?? addEndUser(app, session_id),

    saveRun,

    /** Saves a run and appends the segment's text to its message; one that failed has none (server §18). */
    saveSegment(run: StoredRun, status: StoredMessage["status"]): void {
      store.transaction(() => {
        saveRun(run);
        const message = messages.find({ id: run.message_id ?? "" });
        if (!message) return;
        const failed = status === "error";
        messages.update(
          { id: message.id },
          {
            // A resumed chatflow repeats its first text (server §18).
            answer: failed ? "" : `${message.answer}${run.progress.said}`,
            error: failed ? `Run failed: ${run.error}` : null,
            citations: run.progress.citations ?? null,
            status,
          },
        );
      });
    },
  };
}
