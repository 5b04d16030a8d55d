import { atLeast } from "../../../lib/version.ts";
import { type AppDefinition, defineApp } from "./app-definitions.ts";
import type { AppFeatures, ModelConfig } from "./app-features.ts";
import type { AnyNode } from "./node-types.ts";
import { answers } from "./own-answers.ts";
import { modelApps } from "./own-model-apps.ts";
import { plainApps } from "./own-plain-apps.ts";
import { readAnswerRules } from "./read-rules.ts";

/** The parts of an exported application that the sandbox uses. */
interface ExportedApp extends Pick<AppDefinition, "recording"> {
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

function readExported({ app, workflow, model_config: config, recording }: ExportedApp) {
  if (!workflow) return defineApp({ ...app, config });
  const { graph, features = {}, conversation_variables: variables = [] } = workflow;
  const nodes = graph.nodes.map(({ data, ...node }) => ({ ...node, ...data }) as AnyNode);
  return defineApp({ ...app, recording, features, variables, nodes, edges: graph.edges });
}

/** The applications of a sandbox, by name: its own ones, and those given as files. */
export type Applications = ReadonlyMap<string, AppDefinition>;

/**
 * Reads the applications of a server, or those of any server without a version; one of `more` replaces
 * an own one of the same name.
 */
export function readApplications(more: readonly unknown[] = [], version = "0"): Applications {
  const given = (more as readonly (AppDefinition | ExportedApp)[]) // checked before
    .map((each) => ("app" in each ? readExported(each) : each));
  const all = [...plainApps, ...modelApps, readAnswerRules(answers, "answers"), ...given];
  const known = all.filter(({ since = "0" }) => atLeast(version, since));
  return new Map(known.map((app) => [app.name, app]));
}
