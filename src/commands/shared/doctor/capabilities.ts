import { readText } from "../../../api/client.ts";
import { isOlderThan } from "../../../api/api-error.ts";
import { ApiError, CliError } from "../../../errors.ts";
import { isObject, parsedJson, valueAt } from "../../../lib/json.ts";
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
import { kbTasks } from "../../kb/specs.ts";
import type { Context } from "../../command-spec.ts";
import { workflowTasks } from "../../wf/specs.ts";

/** Something a server may be able to do, and how that is known. */
interface Capability {
  readonly capability: string;
  readonly supported: "yes" | "no" | "unknown";
  readonly how: string;
}

/**
 * A group of operations: `row` is asked to learn of it; with `modes` the kind of application tells, of
 * others before it is asked.
 */
interface Group {
  readonly name: string;
  readonly row?: AnyOperation;
  readonly modes?: readonly string[];
}

const groups: Readonly<Record<"dataset" | "app", readonly Group[]>> = {
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

/** What `GET /parameters` says of an application, by capability: the field with its switch. */
const switches: Readonly<Record<string, string>> = {
  files: "file_upload",
  "speech to text": "speech_to_text",
  "text to speech": "text_to_speech",
  "suggested questions": "suggested_questions_after_answer",
  "annotation reply": "annotation_reply",
};

/** What servers do since one version, or until another: no read shows it (server §19). */
const behaviours: Readonly<Record<"dataset" | "app", readonly Behaviour[]>> = {
  dataset: [{ name: "lists by several tags that all match", since: "1.15.0" }],
  app: [
    { name: "forms with choices and files", since: "1.15.0" },
    { name: "submitted forms in event streams", since: "1.13.0", until: "1.15.0" },
  ],
};

interface Behaviour {
  readonly name: string;
  readonly since: string;
  /** The first version that lacks it; later ones may have it again. */
  readonly until?: string;
}

/** No object has it, so that a read finds the route and nothing behind it. */
const nobody = "00000000-0000-0000-0000-000000000000";

/** What one read told. */
interface Probed {
  readonly supported: Capability["supported"];
  readonly how: string;
  /** Kind of application, where /info was asked. */
  readonly mode?: string;
}

/**
 * Finds what the server supports of the API that the program speaks, with reads alone: one request
 * for each group and each newer operation that reads. What only a write could tell is judged by the
 * version of the server.
 */
export async function* capabilities(context: Context): AsyncGenerator<Capability> {
  const kind = context.options.program === "wf" ? "app" : "dataset";
  let version: string | undefined;
  let mode: string | undefined;
  let settings: unknown;
  /** Why nothing more can be learnt by asking. */
  let given: string | undefined;

  const probe = async (row: AnyOperation): Promise<Probed> => {
    if (given !== undefined) return { supported: "unknown", how: given };
    const request = { method: "GET", url: addressOf(row), headers: {} };
    try {
      const answer = await context.raw(request, kind, {});
      version ??= answer.headers["x-version"];
      const body = parsedJson(await readText(answer.body));
      if (!isObject(body) && !Array.isArray(body)) {
        given = "the answer is no JSON: not an API endpoint";
        return { supported: "unknown", how: given };
      }
      if (row === getAppInfo && isObject(body) && typeof body["mode"] === "string") {
        mode = body["mode"];
      }
      if (row === getAppParameters) settings = body;
      return { supported: "yes", how: `${row.route}: ${answer.status}` };
    } catch (error) {
      if (!(error instanceof CliError) || context.signal.aborted) throw error;
      version ??= error instanceof ApiError ? error.response.version : undefined;
      const info = judged(error, row);
      // A key that is missing or refused, and a server that is away, are so for every request.
      if (error.kind === "auth" || error.kind === "network" || error.kind === "usage") {
        given = info.how;
      }
      return info;
    }
  };

  for (const { name, row, modes } of groups[kind]) {
    const foreign = mode !== undefined && modes?.includes(mode) === false;
    const { supported, how } = row && !foreign ? await probe(row) : modeTells(modes, mode);
    yield { capability: name, supported, how };
  }
  if (kind === "app") {
    const read = await probe(getAppParameters);
    for (const [capability, field] of Object.entries(switches)) {
      const enabled = valueAt(settings, `${field}.enabled`);
      if (typeof enabled !== "boolean") {
        yield { capability, supported: "unknown", how: read.how };
        continue;
      }
      const how = `GET /parameters: ${field} is ${enabled ? "on" : "off"}`;
      yield { capability, supported: enabled ? "yes" : "no", how };
    }
  }
  for (const behaviour of behaviours[kind]) {
    yield { capability: behaviour.name, ...versionTells(behaviour, version) };
  }
  for (const row of newer(kind)) {
    const reads = row.route.startsWith("GET ");
    const { supported, how } = reads ? await probe(row) : versionTells(row, version);
    const since = reads ? ` (since ${row.since})` : "";
    yield {
      capability: commandOf(row),
      supported,
      how: how + since,
    };
  }
}

/** Operations that came with a later version, each route once. */
const newer = (kind: "dataset" | "app"): AnyOperation[] => [
  ...new Map(
    operations
      .filter((row) => row.key === kind && row.since !== undefined)
      .map((row) => [row.route, row]),
  ).values(),
];

/** The command that sends a row, without its arguments: `kb doc link`. */
function commandOf(row: AnyOperation): string {
  const tasks = [...kbTasks, ...workflowTasks];
  const task =
    tasks.find(({ wraps }) => wraps === row) ?? tasks.find(({ sends }) => sends.includes(row));
  return (row.command ?? task?.command ?? row.id).replace(/ [<[].*/, "");
}

/** Path with nobody's ids, and the shortest page of a list. No end user: a read would make one. */
function addressOf(row: AnyOperation): string {
  const [, path] = methodAndPath(row);
  const filled = path.replace(
    /\{(\w+)\}/g,
    (_, name: string) => row.params[name]?.choices?.[0] ?? nobody,
  );
  return row.returns.kind === "page" ? `${filled}?page=1&limit=1` : filled;
}

/** What a refusal says of the route (server §3, §19). */
function judged(error: CliError, row: AnyOperation): Probed {
  if (!(error instanceof ApiError)) return { supported: "unknown", how: error.message };
  const { status, serverCode, version } = error.response;
  const how = `${row.route}: ${[status, serverCode].filter((part) => part !== undefined).join(" ")}`;
  if (error.kind === "not-found") {
    // Without an id there is nothing to miss: servers before 1.11.3 answer so for tags.
    return { supported: row.route.includes("{") ? "yes" : "no", how };
  }
  if (error.kind === "unsupported" && status !== 501 && version !== undefined) {
    const why = serverCode?.includes("app")
      ? "the application is of another kind"
      : "no such route";
    return { supported: "no", how: `${how}: ${why}` };
  }
  // The application itself read the request and found it wanting: no end user, nobody's id.
  if (error.kind === "refused" && version !== undefined) return { supported: "yes", how };
  return { supported: "unknown", how: error.message };
}

function modeTells(modes: Group["modes"], mode: string | undefined): Probed {
  if (modes === undefined || mode === undefined) {
    return { supported: "unknown", how: "only a write would tell" };
  }
  const how = `the application is of mode ${mode}`;
  return { supported: modes.includes(mode) ? "yes" : "no", how };
}

function versionTells(
  { since = "", until }: Partial<Behaviour>,
  version: string | undefined,
): Probed {
  if (version === undefined) return { supported: "unknown", how: "only a write would tell" };
  const how = `the server is ${version} (since ${since}${until === undefined ? "" : `, not in ${until}`})`;
  if (isOlderThan(version, since)) return { supported: "no", how };
  if (until === undefined || isOlderThan(version, until)) return { supported: "yes", how };
  return { supported: isOlderThan(until, version) ? "unknown" : "no", how };
}
