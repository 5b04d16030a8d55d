/**
 * The applications of the sandbox, in the shape of exported ones. What a node cannot really do here,
 * such as a request to another server, is below its key `sandbox`.
 */
import { atLeast } from "../../../lib/version.ts";
import answers from "../applications/answers.json" with { type: "json" };
import chats from "../applications/chats.json" with { type: "json" };
import failures from "../applications/failures.json" with { type: "json" };
import forms from "../applications/forms.json" with { type: "json" };
import plain from "../applications/plain.json" with { type: "json" };
import withModels from "../applications/with-models.json" with { type: "json" };
import {
  type AppFeatures,
  type InputField,
  inputFields,
  type ModelConfig,
} from "./app-features.ts";
import { type AnyNode, type Edge, nodesOf } from "./node-types.ts";
import type { RecordingEvent } from "./given-apps.ts";
import type { AnswerRules } from "./answer-rules.ts";
import { readAnswerRules } from "./read-rules.ts";

/** An application of the sandbox. */
export interface AppDefinition {
  readonly name: string;
  readonly description: string;
  readonly mode: "workflow" | "advanced-chat" | "chat" | "completion" | "agent-chat" | "agent";
  readonly features: AppFeatures;
  /** Of a basic application: it has no nodes. */
  readonly config: ModelConfig | undefined;
  readonly inputs: readonly InputField[];
  readonly nodes: readonly AnyNode[];
  readonly edges: readonly Edge[];
  /** Of an application that replays a run instead of executing its nodes. */
  readonly recording: readonly RecordingEvent[] | undefined;
  /** Of an application whose answers are not written by the stand-in model. */
  readonly rules: AnswerRules | undefined;
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
  /** The first server version that has it; missing if all do. */
  readonly since?: string;
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
  readonly recording?: readonly RecordingEvent[];
  readonly rules?: AnswerRules;
}

function defineApp({ app, workflow, model_config, recording, rules }: ExportedApp): AppDefinition {
  const { graph, features, conversation_variables } = workflow ?? {};
  const nodes = graph?.nodes.map(({ data, ...node }) => ({ ...node, ...data }) as AnyNode) ?? [];
  return {
    ...app,
    features: features ?? model_config ?? {},
    config: model_config,
    recording,
    rules,
    nodes,
    edges: graph?.edges ?? [],
    inputs: model_config
      ? inputFields(model_config)
      : nodesOf({ nodes }, "start").flatMap(({ variables }) => variables),
    variables: conversation_variables ?? [],
  };
}

const exported: readonly unknown[] = [
  ...plain,
  ...failures,
  ...forms,
  ...chats,
  ...withModels,
  readAnswerRules(answers, "answers"),
];

/** The applications of a sandbox, by name: its own ones, and those given as exported files. */
export type Applications = ReadonlyMap<string, AppDefinition>;

/**
 * Reads the applications of a server, or those of any server without a version; one of `more` replaces
 * an own one of the same name.
 */
export function readApplications(more: readonly unknown[] = [], version = "0"): Applications {
  const all = ([...exported, ...more] as readonly ExportedApp[]) // checked before
    .filter(({ since = "0" }) => atLeast(version, since))
    .map(defineApp);
  return new Map(all.map((app) => [app.name, app]));
}
