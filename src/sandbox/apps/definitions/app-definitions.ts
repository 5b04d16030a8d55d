import {
  type AppFeatures,
  type InputField,
  inputFields,
  type ModelConfig,
} from "./app-features.ts";
import { type AnyNode, type Edge, nodesOf } from "./node-types.ts";
import type { RecordingEvent } from "./given-apps.ts";
import type { AnswerRules } from "./answer-rules.ts";

/** An application of the sandbox. */
export interface AppDefinition {
  readonly name: string;
  readonly description: string;
  readonly mode: "workflow" | "advanced-chat" | "chat" | "completion" | "agent-chat" | "agent";
  /** The first server version that has it; missing if all do. */
  readonly since?: string;
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

/** The parts of an application from which the others follow. */
export type AppParts = Pick<AppDefinition, "name" | "description" | "mode"> &
  Partial<AppDefinition>;

/** Completes an application: its inputs are in its settings, or in its start node. */
export function defineApp({ config, nodes = [], ...app }: AppParts): AppDefinition {
  const inputs = config
    ? inputFields(config)
    : nodesOf({ nodes }, "start").flatMap(({ variables }) => variables);
  return { features: config ?? {}, edges: [], variables: [], ...app, config, nodes, inputs };
}
