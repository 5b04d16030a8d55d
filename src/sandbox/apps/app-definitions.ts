/**
 * The applications of the sandbox, in the shape of exported ones. What a node cannot really do here,
 * such as a request to another server, is below its key `sandbox`.
 */
import batch from "./applications/batch.json" with { type: "json" };
import broken from "./applications/broken.json" with { type: "json" };
import chat from "./applications/chat.json" with { type: "json" };
import chatReview from "./applications/chat-review.json" with { type: "json" };
import convo from "./applications/convo.json" with { type: "json" };
import echo from "./applications/echo.json" with { type: "json" };
import flaky from "./applications/flaky.json" with { type: "json" };
import inputs from "./applications/inputs.json" with { type: "json" };
import loop from "./applications/loop.json" with { type: "json" };
import retry from "./applications/retry.json" with { type: "json" };
import review from "./applications/review.json" with { type: "json" };
import slow from "./applications/slow.json" with { type: "json" };
import tolerant from "./applications/tolerant.json" with { type: "json" };
import twoReviews from "./applications/two-reviews.json" with { type: "json" };
import type { AppFeatures, InputField } from "./app-features.ts";
import { inputFields, type ModelConfig } from "./basic/model-config.ts";

/** The source of a value: the ID of a node (or `sys`, `conversation`) and the name of an output. */
export type Selector = readonly [node: string, name: string];

/** What nodes declare, by their type. */
interface NodeData {
  /** Outputs the inputs of the run. */
  readonly start: { readonly variables: readonly InputField[] };
  /** Collects outputs of the run from earlier nodes. */
  readonly end: {
    readonly outputs: readonly { readonly variable: string; readonly value_selector: Selector }[];
  };
  /** Sends a text with variables in a chatflow. */
  readonly answer: { readonly answer: string };
  /** Imitates a program: always returns the same outputs. */
  readonly code: { readonly sandbox: { readonly outputs: Readonly<Record<string, unknown>> } };
  /** Imitates a request to another server; nothing is sent. */
  readonly "http-request": {
    readonly method: string;
    readonly url: string;
    /** Pauses in ms. */
    readonly retry_config?: { readonly max_retries: number; readonly retry_interval: number };
    /** Outputs to use if the request fails, so that the run continues. */
    readonly default_value?: readonly { readonly key: string; readonly value: unknown }[];
    readonly sandbox:
      | { readonly error: string }
      | {
          readonly error?: undefined;
          readonly body: string;
          /** Duration in seconds: an input of the run, or the default. */
          readonly seconds: { readonly value_selector: Selector; readonly default: number };
        };
  };
  /** Pauses the run until a form is submitted or expires. */
  readonly "human-input": {
    readonly form_content: string;
    readonly inputs: readonly { readonly output_variable_name: string }[];
    readonly user_actions: readonly { readonly id: string; readonly title: string }[];
    readonly timeout: number;
    readonly timeout_unit: "hour" | "day";
  };
  /** Increments a variable, one inner node per round, until a value or for `loop_count` rounds. */
  readonly loop: {
    readonly loop_count: number;
    readonly loop_variables: readonly [{ readonly label: string; readonly value: number }];
    readonly break_conditions: readonly [{ readonly value: number }];
    readonly sandbox: { readonly seconds: number };
  };
  /** Runs one inner node for each number of a list and joins the outputs. */
  readonly iteration: {
    readonly iterator_selector: Selector;
    readonly sandbox: { readonly seconds: number };
  };
  /** The inner node of a loop. */
  readonly assigner: { readonly items: readonly unknown[] };
}

export type NodeType = keyof NodeData;

export type AnyNode = {
  readonly [Each in NodeType]: NodeData[Each] & {
    readonly id: string;
    readonly type: Each;
    readonly title: string;
    /** The loop or iteration around it. */
    readonly parentId?: string;
  };
}[NodeType];

/** A node of one type, or of several. */
export type NodeOf<Type extends NodeType> = Extract<AnyNode, { readonly type: Type }>;

/** An application of the sandbox. */
export interface AppDefinition {
  readonly name: string;
  readonly description: string;
  readonly mode: "workflow" | "advanced-chat" | "chat" | "completion" | "agent-chat";
  readonly features: AppFeatures;
  /** Of a basic application: it has no nodes. */
  readonly config: ModelConfig | undefined;
  readonly inputs: readonly InputField[];
  readonly nodes: readonly AnyNode[];
  readonly edges: readonly { readonly source: string; readonly target: string }[];
  /** Conversation variables with their initial values. */
  readonly variables: readonly {
    readonly name: string;
    readonly value: string;
    readonly description: string;
  }[];
}

/** The parts of an exported application that the sandbox uses. */
interface ExportedApp {
  readonly app: Pick<AppDefinition, "name" | "description" | "mode">;
  /** Missing in basic applications: chats, completions and agents. */
  readonly workflow?: {
    readonly features?: AppFeatures;
    readonly conversation_variables?: AppDefinition["variables"];
    readonly graph: {
      readonly nodes: readonly {
        readonly id: string;
        readonly parentId?: string;
        readonly data: Omit<AnyNode, "id" | "parentId">;
      }[];
      readonly edges: AppDefinition["edges"];
    };
  };
  /** The settings of a basic application, its features among them. */
  readonly model_config?: ModelConfig;
}

function defineApp({ app, workflow, model_config }: ExportedApp): AppDefinition {
  const { graph, features, conversation_variables } = workflow ?? {};
  const nodes = graph?.nodes.map(({ data, ...node }) => ({ ...node, ...data }) as AnyNode) ?? [];
  return {
    ...app,
    features: features ?? model_config ?? {},
    config: model_config,
    nodes,
    edges: graph?.edges ?? [],
    inputs: model_config
      ? inputFields(model_config)
      : nodesOf({ nodes }, "start").flatMap(({ variables }) => variables),
    variables: conversation_variables ?? [],
  };
}

/** Returns the nodes of a type. */
export const nodesOf = <Type extends NodeType>(
  app: Pick<AppDefinition, "nodes"> | undefined,
  type: Type,
): NodeOf<Type>[] => (app?.nodes ?? []).filter((node): node is NodeOf<Type> => node.type === type);

const exported: readonly unknown[] = [
  batch,
  broken,
  chat,
  chatReview,
  convo,
  echo,
  flaky,
  inputs,
  loop,
  retry,
  review,
  slow,
  tolerant,
  twoReviews,
];

/** The applications of a sandbox, by name: its own ones, and those given as exported files. */
export type Applications = ReadonlyMap<string, AppDefinition>;

/** Reads the applications; one of `more` replaces an own one of the same name. */
export function readApplications(more: readonly unknown[] = []): Applications {
  const all = [...exported, ...more].map((app) => defineApp(app as ExportedApp)); // checked before
  return new Map(all.map((app) => [app.name, app]));
}
