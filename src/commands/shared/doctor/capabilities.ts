import { isOlderThan } from "../../../api/api-error.ts";
import { readText } from "../../../api/exchange.ts";
import { ApiError, CliError } from "../../../errors.ts";
import type { KeyKind } from "../../../lib/api-key.ts";
import { isObject, tryParseJson, valueAt } from "../../../lib/json.ts";
import { listAnnotations } from "../../../operations/annotations.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { listFeedback } from "../../../operations/chats.ts";
import { listChunks } from "../../../operations/chunks.ts";
import { listDocuments } from "../../../operations/documents.ts";
import { operations } from "../../../operations/index.ts";
import { listKnowledgeBases } from "../../../operations/knowledge.ts";
import { listMetadataFields } from "../../../operations/metadata.ts";
import { listModels } from "../../../operations/models.ts";
import { methodAndPath } from "../../../operations/operation.ts";
import type { AnyOperation } from "../../../operations/operation.ts";
import { listTags } from "../../../operations/tags.ts";
import { getWorkflowRun, listWorkflowLogs } from "../../../operations/workflows.ts";
import { kbFeatures } from "../../kb/index.ts";
import { loadAll } from "../../task/command-spec.ts";
import type { Context, Task } from "../../task/command-spec.ts";
import { workflowFeatures } from "../../wf/index.ts";

/** One capability of the server, and how it was determined. */
interface Capability {
  readonly capability: string;
  readonly supported: "yes" | "no" | "unknown";
  readonly how: string;
}

/**
 * A group of operations. A read of `row` shows whether the server has it; with `modes`, only apps of
 * these modes do, and others are not probed.
 */
interface Group {
  readonly name: string;
  readonly row?: AnyOperation;
  readonly modes?: readonly string[];
}

const groups: Readonly<Record<KeyKind, readonly Group[]>> = {
  dataset: [
    { name: "knowledge bases", row: listKnowledgeBases },
    { name: "documents", row: listDocuments },
    { name: "chunks", row: listChunks },
    { name: "metadata", row: listMetadataFields },
    { name: "tags", row: listTags },
    { name: "models", row: listModels },
  ],
  app: [
    { name: "application", row: getAppInfo },
    { name: "workflow runs", row: getWorkflowRun },
    // The log of a chatflow is a list like any other, and always empty (server §12).
    { name: "logs", row: listWorkflowLogs, modes: ["workflow"] },
    { name: "chat", modes: ["chat", "agent-chat", "advanced-chat", "agent"] },
    { name: "completion", modes: ["completion"] },
    { name: "feedback", row: listFeedback },
    { name: "annotations", row: listAnnotations },
  ],
};

/** Features of an application, by capability: the field of `GET /parameters` that has the switch. */
const switches: Readonly<Record<string, string>> = {
  files: "file_upload",
  "speech to text": "speech_to_text",
  "text to speech": "text_to_speech",
  "suggested questions": "suggested_questions_after_answer",
  "annotation reply": "annotation_reply",
};

/** Behavior that no read shows, by server version (server §19). */
const behaviors: Readonly<Record<KeyKind, readonly Behavior[]>> = {
  dataset: [{ name: "lists by several tags that all match", since: "1.15.0" }],
  app: [
    { name: "forms with choices and files", since: "1.15.0" },
    { name: "submitted forms in event streams", since: "1.13.0", until: "1.15.0" },
  ],
};

interface Behavior {
  readonly name: string;
  readonly since: string;
  /** The first version without it; later ones may have it again. */
  readonly until?: string;
}

/** An ID that no object has: a read with it tests the route only. */
const UNUSED_ID = "00000000-0000-0000-0000-000000000000";

type Verdict = Omit<Capability, "capability">;

/**
 * `doctor --capabilities`: lists which of the API that this CLI uses the server supports. Sends reads
 * only, one for each group and each newer operation that reads; everything else is inferred from the
 * server version.
 */
export async function* capabilities(context: Context): AsyncGenerator<Capability> {
  const kind = context.options.program === "wf" ? "app" : "dataset";
  const probes = new Probes(kind, context);
  for (const group of groups[kind])
    yield { capability: group.name, ...(await probes.checkGroup(group)) };
  if (kind === "app") yield* switchedFeatures(probes);
  for (const behavior of behaviors[kind])
    yield { capability: behavior.name, ...fromVersion(behavior, probes.version) };
  const commands = await loadAll(kind === "app" ? workflowFeatures : kbFeatures);
  for (const row of newerOperations(kind)) {
    if (row.route.startsWith("GET ")) {
      const { supported, how } = await probes.probe(row);
      yield { capability: commandOf(row, commands), supported, how: `${how} (since ${row.since})` };
    } else yield { capability: commandOf(row, commands), ...fromVersion(row, probes.version) };
  }
}

async function* switchedFeatures(probes: Probes): AsyncGenerator<Capability> {
  const { how: read } = await probes.probe(getAppParameters);
  for (const [capability, field] of Object.entries(switches)) {
    const enabled = valueAt(probes.parameters, `${field}.enabled`);
    if (typeof enabled === "boolean") {
      const how = `GET /parameters: ${field} is ${enabled ? "on" : "off"}`;
      yield { capability, supported: enabled ? "yes" : "no", how };
    } else yield { capability, supported: "unknown", how: read };
  }
}

/** Sends reads to learn which routes the server has, and remembers what else the responses show. */
class Probes {
  /** Version of the server, once a response has shown it. */
  version: string | undefined;
  /** Response of `GET /parameters`. */
  parameters: unknown;
  /** Mode of the application, from `GET /info`. */
  private mode: string | undefined;
  /** Why every further request would fail, too. */
  private stopped: string | undefined;
  private readonly kind: KeyKind;
  private readonly context: Context;

  constructor(kind: KeyKind, context: Context) {
    this.kind = kind;
    this.context = context;
  }

  async checkGroup({ row, modes }: Group): Promise<Verdict> {
    const hasOtherMode = this.mode !== undefined && modes?.includes(this.mode) === false;
    return row && !hasOtherMode ? this.probe(row) : fromMode(modes, this.mode);
  }

  async probe(row: AnyOperation): Promise<Verdict> {
    if (this.stopped !== undefined) return { supported: "unknown", how: this.stopped };
    try {
      return await this.send(row);
    } catch (error) {
      if (!(error instanceof CliError) || this.context.signal.aborted) throw error;
      this.version ??= error instanceof ApiError ? error.response.version : undefined;
      const verdict = fromError(error, row);
      // A missing or invalid key and an unreachable server affect every request.
      if (["auth", "network", "usage"].includes(error.kind)) this.stopped = verdict.how;
      return verdict;
    }
  }

  private async send(row: AnyOperation): Promise<Verdict> {
    const request = { method: "GET", url: urlOf(row), headers: {} };
    const response = await this.context.api.raw(request, this.kind, {});
    this.version ??= response.headers["x-version"];
    const body = tryParseJson(await readText(response.body));
    if (!isObject(body) && !Array.isArray(body)) {
      this.stopped = "not an API endpoint: the response is not JSON";
      return { supported: "unknown", how: this.stopped };
    }
    if (row === getAppInfo && isObject(body) && typeof body["mode"] === "string") {
      this.mode = body["mode"];
    }
    if (row === getAppParameters) this.parameters = body;
    return { supported: "yes", how: `${row.route}: ${response.status}` };
  }
}

/** Operations that not every server has, each route once. */
const newerOperations = (kind: KeyKind): AnyOperation[] => [
  ...new Map(
    operations
      .filter((row) => row.key === kind && row.since !== undefined)
      .map((row) => [row.route, row]),
  ).values(),
];

/** The command of an operation, without its arguments: `kb doc link`. */
function commandOf(row: AnyOperation, commands: readonly (AnyOperation | Task)[]): string {
  const tasks = commands.filter((each) => "load" in each);
  const task =
    tasks.find(({ wraps }) => wraps === row) ?? tasks.find(({ sends }) => sends?.includes(row));
  return (row.command ?? task?.command ?? row.id).replace(/ [<[].*/, "");
}

/** URL with unused IDs and the shortest page. Without an end user, since a read would create it. */
function urlOf(row: AnyOperation): string {
  const [, path] = methodAndPath(row);
  const url = path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => row.params[name]?.choices?.[0] ?? UNUSED_ID,
  );
  return row.returns.kind === "page" ? `${url}?page=1&limit=1` : url;
}

/** What an error shows about a route (server §3, §19). */
function fromError(error: CliError, row: AnyOperation): Verdict {
  if (!(error instanceof ApiError)) return { supported: "unknown", how: error.message };
  const { status, serverCode, version } = error.response;
  const how = `${row.route}: ${[status, serverCode].filter((part) => part !== undefined).join(" ")}`;
  if (error.kind === "not-found") {
    // A route without an ID has no object to miss: servers before 1.11.3 lack the one for tags.
    return row.route.includes("{") ? existing(row, error) : { supported: "no", how };
  }
  if (error.kind === "unsupported" && status !== 501 && version !== undefined) {
    const why = serverCode?.includes("app") ? "wrong kind of application" : "no such route";
    return { supported: "no", how: `${how}: ${why}` };
  }
  // The route exists: it rejected the missing end user or the unused ID.
  if (error.kind === "refused" && version !== undefined) return existing(row, error);
  return { supported: "unknown", how: error.message };
}

/** A route that rejected an unused ID, or a request without an end user. */
const existing = (row: AnyOperation, { response: { status } }: ApiError): Verdict => ({
  supported: "yes",
  how: `${row.route}: exists (${status} to a test request)`,
});

const onlyByWrite: Verdict = { supported: "unknown", how: "cannot be tested without a write" };

function fromMode(modes: Group["modes"], mode: string | undefined): Verdict {
  if (modes === undefined || mode === undefined) return onlyByWrite;
  const how = `the application has mode ${mode}`;
  return { supported: modes.includes(mode) ? "yes" : "no", how };
}

function fromVersion(
  { since = "", until }: Partial<Behavior>,
  version: string | undefined,
): Verdict {
  if (version === undefined) return onlyByWrite;
  const range = until === undefined ? `since ${since}` : `since ${since}, not in ${until}`;
  const how = `the server has version ${version} (${range})`;
  if (isOlderThan(version, since)) return { supported: "no", how };
  if (until === undefined || isOlderThan(version, until)) return { supported: "yes", how };
  return { supported: isOlderThan(until, version) ? "unknown" : "no", how };
}
