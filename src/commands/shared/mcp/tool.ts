import type {
  CallToolResult,
  CompleteResult,
  InputRequiredResult,
  ListResourcesResult,
  Prompt,
  ReadResourceResult,
  ResourceTemplateType,
  ToolAnnotations,
} from "@modelcontextprotocol/server";
import type { CallScope } from "../../task/command-runner.ts";

/** A JSON Schema of an object. */
export type ObjectSchema = Readonly<Record<string, unknown>> & { readonly type: "object" };

/** A request of a client, as a tool sees it. */
export interface ClientRequest extends Pick<CallScope, "signal" | "progress"> {
  /** Can the client ask its user to fill in a form? */
  readonly elicits: boolean;
  /** What the user replied to the question under this key; undefined before it was asked. */
  reply(key: string): UserReply | undefined;
  /** The state that a tool returned with its question, verified. */
  state(): unknown;
}

/** The reply of a user to a form: the values only if it was accepted. */
export interface UserReply {
  readonly accepted: boolean;
  readonly values: Readonly<Record<string, unknown>>;
}

/** A tool that a server offers. */
export interface OfferedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: ObjectSchema | undefined;
  readonly annotations: ToolAnnotations;
  /** Throws CliError. `values` are valid by the input schema. */
  readonly call: (
    values: Readonly<Record<string, unknown>>,
    request: ClientRequest,
  ) => Promise<CallToolResult | InputRequiredResult>;
}

/** What a client may assume of a tool that only reads. */
export const readingTool: ToolAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

/** A prompt that a server offers; a missing value is an empty text. */
export interface OfferedPrompt extends Prompt {
  readonly text: (values: Readonly<Record<string, string>>) => string;
}

/** The documents that a server offers as resources. Its functions throw CliError. */
export interface OfferedResources {
  readonly templates: readonly ResourceTemplateType[];
  list(cursor: string | undefined, request: ClientRequest): Promise<ListResourcesResult>;
  read(uri: string, request: ClientRequest): Promise<ReadResourceResult>;
}

/** Everything that a server offers. */
export interface Offer {
  readonly title: string;
  /** How to use it, for models. */
  readonly instructions: string;
  readonly tools: readonly OfferedTool[];
  readonly prompts: readonly OfferedPrompt[];
  readonly resources?: OfferedResources | undefined;
  /** Values that begin with a text, for an argument of a prompt or a template. */
  complete(
    argument: string,
    text: string,
    others: Readonly<Record<string, string>>,
    request: ClientRequest,
  ): Promise<CompleteResult["completion"]["values"]>;
}
