/** Checks before a model is used; nothing runs if it is disabled or has no credentials (server §17). */
import { catalogOf, type ModelKind } from "../models/catalog.ts";
import type { LanguageModel } from "../models/language-model.ts";
import { hasCredentials } from "../models/model-access.ts";
import type { AppDefinition } from "./definitions/app-definitions.ts";
import type { AppContext } from "./context.ts";
import { appError } from "./records/shapes.ts";

type Models = Pick<AppContext, "model" | "models">;

/** Returns the language model for an application that names it; throws 400. */
export function requireModel({ model, models }: Models, name: string): LanguageModel {
  if (!model || !hasCredentials(models)) throw appError("model without credentials", { name });
  if (models.disabled.has(name)) throw appError("model disabled", { name });
  return model;
}

/** Throws 400 if the server has no default model of a kind that can be used. */
export function requireDefaultModel(context: Models, kind: ModelKind): void {
  const [first] = catalogOf(kind);
  if (!context.model || !first) throw appError("no default model", { kind });
  requireModel(context, first.model);
}

/** Throws 400 if a node of a workflow names a model that cannot be used. */
export function requireNodeModels(
  { model, models }: Models,
  { nodes, rules }: AppDefinition,
): void {
  if (rules) return; // they answer in its place
  const names = nodes.flatMap((node) => ("model" in node ? [node.model.name] : []));
  if (names.length === 0) return;
  if (!model || !hasCredentials(models)) throw appError("node model without credentials");
  if (names.some((name) => models.disabled.has(name))) throw appError("node model disabled");
}
