/** Applications, their features and nodes, as exports declare them. */
import type { AnswerRules } from "./answer-rules.ts";

/** A field of the input form. */
export interface InputField {
  readonly type:
    | "text-input"
    | "paragraph"
    | "select"
    | "number"
    | "checkbox"
    | "file"
    | "file-list";
  readonly variable: string;
  readonly label: string;
  readonly required?: boolean;
  readonly default?: string;
  /** Maximum number of characters, or of files. */
  readonly max_length?: number | null;
  readonly options?: readonly string[];
}

interface Switch {
  readonly enabled: boolean;
}

/** What an application offers beside its replies, by the names of `GET /parameters`. */
export interface AppFeatures extends Readonly<Record<string, unknown>> {
  readonly speech_to_text?: Switch;
  readonly text_to_speech?: Switch;
  readonly opening_statement?: string;
  readonly suggested_questions_after_answer?: Switch;
  readonly file_upload?: Switch &
    Readonly<Record<string, unknown>> & { readonly allowed_file_types: readonly string[] };
}

/** A tool of an agent; nothing is called: `sandbox` has what it would return. */
export interface Tool {
  /** The provider's name, as in its icon's address; new agents (server §18) have no icons. */
  readonly provider_id?: string;
  readonly tool_name: string;
  readonly sandbox: {
    /** The tool's name by language. */
    readonly label: Readonly<Record<string, string>>;
    readonly output: string;
  };
}

/** The settings of a basic application: a chat, a completion or an agent. */
export interface ModelConfig extends AppFeatures {
  readonly model: { readonly provider: string; readonly name: string };
  /** Instructions; `{{name}}` stands for an input. */
  readonly pre_prompt: string;
  /** Fields by their type, one in each object. */
  readonly user_input_form: readonly Readonly<
    Partial<Record<InputField["type"], Omit<InputField, "type">>>
  >[];
  /** The input to search for; empty for the message itself. */
  readonly dataset_query_variable?: string;
  readonly dataset_configs?: {
    readonly datasets: {
      /** IDs or names; `*` stands for all knowledge bases. */
      readonly datasets: readonly { readonly dataset: { readonly id: string } }[];
    };
    readonly top_k: number;
    readonly score_threshold_enabled: boolean;
    readonly score_threshold: number;
  };
  readonly agent_mode?: {
    readonly strategy: "function_call" | "react";
    readonly tools: readonly Tool[];
  };
}

/** The source of a value: the ID of a node (or `sys`, `conversation`), an output, and names inside of it. */
export type Selector = readonly [node: string, name: string, ...path: string[]];

interface NodeVariable {
  readonly variable: string;
  readonly value_selector: Selector;
}

/** A comparison of a value, in branches and loops. */
export interface Condition {
  readonly variable_selector: Selector;
  readonly comparison_operator: string;
  readonly value: unknown;
}

interface ModelChoice {
  readonly provider: string;
  readonly name: string;
}

/** What only the sandbox reads: how long a node takes, in seconds. */
interface Duration {
  readonly seconds?: number;
}

/** What happens after a node failed, the same for all kinds of nodes. */
export interface ErrorHandling {
  /** Pauses in ms. */
  readonly retry_config?: {
    readonly retry_enabled?: boolean;
    readonly max_retries: number;
    readonly retry_interval: number;
  };
  /** Without one, the run fails with the node. */
  readonly error_strategy?: "default-value" | "fail-branch" | null;
  /** Outputs to use if the node fails, so that the run continues. */
  readonly default_value?: readonly { readonly key: string; readonly value: unknown }[] | null;
}

/** What nodes declare, by their type. */
export interface NodeData {
  /** Outputs the inputs of the run. */
  readonly start: { readonly variables: readonly InputField[] };
  /** Collects outputs of the run from earlier nodes. */
  readonly end: { readonly outputs: readonly NodeVariable[] };
  /** Sends a text with variables in a chatflow. */
  readonly answer: { readonly answer: string };
  /** Imitates a program: returns fixed outputs, or what a program of the sandbox makes. */
  readonly code: {
    readonly variables?: readonly NodeVariable[];
    readonly sandbox: Duration &
      (
        | { readonly outputs: Readonly<Record<string, unknown>>; readonly program?: undefined }
        | { readonly program: string }
      );
  };
  /** Fills a template of Jinja with variables. */
  readonly "template-transform": {
    readonly template: string;
    readonly variables: readonly NodeVariable[];
  };
  /** Imitates a request to another server; nothing is sent. */
  readonly "http-request": ErrorHandling & {
    readonly method: string;
    readonly url: string;
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
  /** Asks a language model. */
  readonly llm: ErrorHandling & {
    readonly model: ModelChoice;
    /** Texts with variables. */
    readonly prompt_template: readonly {
      readonly role: "system" | "user" | "assistant";
      readonly text: string;
    }[];
    /** The result of a knowledge node, which fills `{{#context#}}`. */
    readonly context?: { readonly enabled: boolean; readonly variable_selector?: Selector | [] };
    readonly vision?: { readonly enabled: boolean };
    /** In chatflows: earlier messages of the conversation, and the message itself. */
    readonly memory?: {
      readonly query_prompt_template?: string;
      readonly window?: { readonly enabled: boolean; readonly size: number };
    };
    /** Whether reasoning in `<think>` stays in the text. */
    readonly reasoning_format?: "tagged" | "separated";
    readonly structured_output_enabled?: boolean;
    readonly structured_output?: { readonly schema: unknown };
  };
  /** Searches knowledge bases. */
  readonly "knowledge-retrieval": ErrorHandling & {
    readonly query_variable_selector: Selector;
    /** IDs or names; `*` stands for all knowledge bases of the sandbox. */
    readonly dataset_ids: readonly string[];
    readonly multiple_retrieval_config?: { readonly top_k?: number } | null;
  };
  /** Lets a model choose the branch. */
  readonly "question-classifier": ErrorHandling & {
    readonly model: ModelChoice;
    readonly query_variable_selector: Selector;
    readonly classes: readonly { readonly id: string; readonly name: string }[];
    readonly instruction?: string;
  };
  /** Takes the branch of the first case that holds, or `false`. */
  readonly "if-else": {
    readonly cases: readonly {
      readonly case_id: string;
      readonly logical_operator: "and" | "or";
      readonly conditions: readonly Condition[];
    }[];
  };
  /** Outputs the first of the variables that has a value. */
  readonly "variable-aggregator": { readonly variables: readonly Selector[] };
  /** Repeats its inner nodes until a condition holds, or `loop_count` times. */
  readonly loop: {
    readonly loop_count: number;
    readonly loop_variables: readonly { readonly label: string; readonly value: unknown }[];
    readonly break_conditions: readonly Condition[];
    readonly logical_operator?: "and" | "or";
  };
  /** Runs its inner nodes for each item of a list. */
  readonly iteration: {
    readonly iterator_selector: Selector;
    readonly output_selector: Selector;
    /** Joins outputs that are lists. */
    readonly flatten_output?: boolean;
    readonly is_parallel?: boolean;
    readonly parallel_nums?: number;
    readonly error_handle_mode?: "terminated" | "continue-on-error" | "remove-abnormal-output";
  };
  /** Changes variables of a loop or a conversation. */
  readonly assigner: {
    readonly items: readonly {
      readonly variable_selector: Selector;
      readonly input_type: "constant" | "variable";
      readonly operation: string;
      readonly value: unknown;
    }[];
    readonly sandbox?: Duration;
  };
  /** The first of the inner nodes; it does nothing. */
  readonly "loop-start": object;
  readonly "iteration-start": object;
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

/** A connection of two nodes; `sourceHandle` names the branch that takes it. */
export interface Edge {
  readonly source: string;
  readonly target: string;
  readonly sourceHandle?: string;
}

/** Returns the nodes of a type. */
export const nodesOf = <Type extends NodeType>(
  app: { readonly nodes: readonly AnyNode[] } | undefined,
  type: Type,
): NodeOf<Type>[] => (app?.nodes ?? []).filter((node): node is NodeOf<Type> => node.type === type);

/** An event of a recording. */
export interface RecordingEvent {
  /** ms since the first event. */
  readonly at: number;
  /** As the server sent it. */
  readonly event: Readonly<Record<string, unknown>> & { readonly event: string };
}

/** What an export says of an application beside its content. */
export interface AppHead {
  readonly name: string;
  readonly description: string;
  readonly mode: "workflow" | "advanced-chat" | "chat" | "completion" | "agent-chat" | "agent";
}

/** An application of the sandbox. */
export interface AppDefinition extends AppHead {
  readonly features: AppFeatures;
  /** Of a basic application: it has no nodes. */
  readonly config?: ModelConfig | undefined;
  readonly inputs: readonly InputField[];
  readonly nodes: readonly AnyNode[];
  readonly edges: readonly Edge[];
  /** Of an application that replays a run instead of executing its nodes. */
  readonly recording?: readonly RecordingEvent[] | undefined;
  /** Of an application whose answers are not written by the stand-in model. */
  readonly rules?: AnswerRules | undefined;
  /** Conversation variables with their initial values. */
  readonly variables: readonly {
    readonly name: string;
    readonly value: string;
    readonly description: string;
  }[];
}

/** Completes an application: its inputs are in its settings, or in its start node. */
export function defineApp({
  config,
  nodes = [],
  ...app
}: AppHead & Partial<AppDefinition>): AppDefinition {
  const inputs =
    config?.user_input_form.flatMap((control) =>
      Object.entries(control).map(([type, field]) => ({ ...field, type }) as InputField),
    ) ?? nodesOf({ nodes }, "start").flatMap(({ variables }) => variables);
  return { features: config ?? {}, edges: [], variables: [], ...app, config, nodes, inputs };
}
