import {
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  Server,
} from "@modelcontextprotocol/server";
import type {
  CallToolResult,
  ClientCapabilities,
  InputRequiredResult,
  ServerContext,
  ServerOptions,
} from "@modelcontextprotocol/server";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { asCliError, usage } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { own } from "../../lib/json.ts";
import type { ProgressStep } from "../../output/report-model.ts";
import { version } from "../../lib/version.ts";
import { mapTexts } from "../../redact/text.ts";
import { errorResult, type ToolCallOf } from "./results.ts";
import type { ClientRequest, Offer, OfferedTool } from "./schema.ts";

/** What the servers of one process share. */
export interface ServerSetting {
  readonly program: string;
  readonly offer: Offer;
  readonly host: Host;
  readonly toolCall: ToolCallOf;
  /** Checks the state of a question that comes back from a client. */
  readonly verifyState?: NonNullable<ServerOptions["requestState"]>["verify"];
}

/** A server for one connection, or for one request over HTTP. */
export function newServer(setting: ServerSetting): Server {
  const { program, offer, verifyState } = setting;
  const { prompts, resources } = offer;
  const server = new Server(
    { name: program, title: offer.title, version },
    {
      instructions: offer.instructions,
      capabilities: {
        tools: {},
        ...(prompts.length > 0 && { prompts: {} }),
        ...(resources && { resources: {} }),
        ...((resources ?? prompts.length > 0) && { completions: {} }),
      },
      ...(verifyState && { requestState: { verify: verifyState } }),
    },
  );
  setToolHandlers(server, setting);
  if (prompts.length > 0) setPromptHandlers(server, setting);
  if (resources) setResourceHandlers(server, setting);
  if (resources ?? prompts.length > 0) setCompletionHandler(server, setting);
  return server;
}

function setToolHandlers(server: Server, setting: ServerSetting): void {
  const { offer, host, toolCall } = setting;
  server.setRequestHandler("tools/list", () => ({
    // Their schemas are JSON by type, which the type of the package describes in more detail.
    tools: offer.tools.map(withoutFunctions) as never,
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { name, arguments: values = {} } = params;
    const tool = offer.tools.find((each) => each.name === name);
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Tool ${name} not found`);
    try {
      checkArguments(tool, values);
      return masked(await tool.call(values, requestOf(context, server, host)), host);
    } catch (error) {
      const inApp: typeof toolCall = (words) => toolCall(words, tool.appOf?.(values));
      return masked(await errorResult(asCliError(error), inApp), host);
    }
  });
}

/** A tool or a prompt as clients see it. */
const withoutFunctions = <T extends object>(offered: T): T =>
  Object.fromEntries(
    Object.entries(offered).filter(([, value]) => typeof value !== "function"),
  ) as T;

/** Whether the package may have rounded an integer in an argument. */
const isRounded = (value: unknown): boolean =>
  typeof value === "object" && value !== null
    ? Object.values(value).some(isRounded)
    : Number.isInteger(value) && !Number.isSafeInteger(value);

const validators = new WeakMap<OfferedTool, ReturnType<AjvJsonSchemaValidator["getValidator"]>>();

/** Throws usage for arguments that the schema of a tool does not allow. */
export function checkArguments(tool: OfferedTool, values: Readonly<Record<string, unknown>>): void {
  const names = Object.keys((tool.inputSchema["properties"] ?? {}) as object);
  const takes = names.length === 0 ? "it takes no arguments" : `arguments: ${names.join(", ")}`;
  const unknown = Object.keys(values).find((name) => !names.includes(name));
  if (unknown !== undefined) throw usage(`unknown argument ${JSON.stringify(unknown)}`, takes);
  const rounded = Object.keys(values).find((name) => isRounded(values[name]));
  if (rounded !== undefined)
    throw usage(`${rounded}: integers beyond 2^53 lose digits in this protocol`);
  const validate =
    validators.get(tool) ?? new AjvJsonSchemaValidator().getValidator(tool.inputSchema);
  validators.set(tool, validate);
  const { valid, errorMessage = "" } = validate(values);
  if (!valid) throw usage(`invalid arguments: ${errorMessage.replace(/\bdata[/ ]/g, "")}`, takes);
}

function setPromptHandlers(server: Server, { offer, host }: ServerSetting): void {
  server.setRequestHandler("prompts/list", () => ({
    prompts: offer.prompts.map(withoutFunctions),
  }));
  server.setRequestHandler("prompts/get", ({ params }) => {
    const { name, arguments: values = {} } = params;
    const prompt = offer.prompts.find((each) => each.name === name);
    if (!prompt)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Prompt ${name} not found`);
    const missing = prompt.arguments?.find(
      (argument) => argument.required && !own(values, argument.name),
    );
    if (missing)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${missing.name} is required`);
    const text = host.secrets.masked(prompt.text(values));
    return { messages: [{ role: "user", content: { type: "text", text } }] };
  });
}

function setResourceHandlers(server: Server, { offer: { resources }, host }: ServerSetting): void {
  if (!resources) return;
  server.setRequestHandler("resources/list", async ({ params }, context) =>
    protocolErrors(async () =>
      masked(await resources.list(params?.cursor, requestOf(context, server, host)), host),
    ),
  );
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [...resources.templates],
  }));
  server.setRequestHandler("resources/read", async ({ params }, context) =>
    protocolErrors(async () =>
      masked(await resources.read(params.uri, requestOf(context, server, host)), host),
    ),
  );
}

function setCompletionHandler(server: Server, { offer, host }: ServerSetting): void {
  server.setRequestHandler("completion/complete", async ({ params }, context) => {
    const { argument, context: others } = params;
    const request = requestOf(context, server, host);
    const values = await protocolErrors(() =>
      offer.complete(argument.name, argument.value, others?.arguments ?? {}, request),
    );
    // The protocol allows so many.
    const shown = values.slice(0, 100);
    return masked(
      { completion: { values: shown, total: values.length, hasMore: values.length > 100 } },
      host,
    );
  });
}

/** Requests without a result for errors have errors of the protocol. */
async function protocolErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { kind, message, info } = asCliError(error);
    const isCaller = kind === "not-found" || kind === "usage" || kind === "refused";
    throw new ProtocolError(
      isCaller ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      message,
      { exit_name: kind, ...(info.hint !== undefined && { hint: info.hint }) },
    );
  }
}

/** Keys never leave the process, not even in the text of a document. */
const masked = <T extends CallToolResult | InputRequiredResult | object>(
  result: T,
  host: Host,
): T =>
  mapTexts(result, {
    start: undefined,
    text: (_, text) => host.secrets.masked(text),
    // The package cannot write them, and most clients would round them.
    number: (_, number) => (typeof number === "number" ? number : String(number)),
    inside: () => undefined,
  }) as T; // only texts and long numbers change

/** ms between two notifications of progress. */
const PROGRESS_INTERVAL = 100;

function requestOf(context: ServerContext, server: Server, host: Host): ClientRequest {
  const { mcpReq } = context;
  return {
    signal: mcpReq.signal,
    progress: progressOf(context, host),
    elicits: capabilitiesOf(context, server)?.elicitation !== undefined,
    reply(key) {
      const reply = inputResponse(mcpReq.inputResponses, key);
      if (reply.kind !== "elicit") return undefined;
      return { accepted: reply.action === "accept", values: reply.content ?? {} };
    },
    state: () => mcpReq.requestState(),
  };
}

/** Each request of a newer client names its capabilities, an older one has named them before. */
function capabilitiesOf({ mcpReq }: ServerContext, server: Server): ClientCapabilities | undefined {
  const envelope = mcpReq.envelope as Readonly<Record<string, unknown>> | undefined;
  const named = envelope?.["io.modelcontextprotocol/clientCapabilities"];
  return (named as ClientCapabilities | undefined) ?? server.getClientCapabilities();
}

/** Sends progress if the client wants it: increasing numbers, and not too often. */
function progressOf({ mcpReq }: ServerContext, host: Host): ClientRequest["progress"] {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => {};
  let [sent, last] = [-1, -Infinity];
  return (step) => {
    const now = host.elapsed();
    const isEnd = step.done === step.total;
    if (step.done <= sent || (now - last < PROGRESS_INTERVAL && !isEnd)) return;
    [sent, last] = [step.done, now];
    const { done: progress, total } = step;
    const message = host.secrets.masked(progressMessage(step));
    void mcpReq
      .notify({
        method: "notifications/progress",
        params: { progressToken, progress, message, ...(total !== undefined && { total }) },
      })
      .catch(() => {}); // the client is gone; the request ends by its signal
  };
}

const progressMessage = ({ verb, done, total, unit, note, current }: ProgressStep): string =>
  [
    `${verb === undefined ? "" : `${verb} `}${done}${total === undefined ? "" : ` of ${total}`} ${unit}`,
    note,
    current,
  ]
    .filter((part) => part !== undefined)
    .join(", ");
