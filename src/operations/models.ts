import {
  joinTexts,
  list as rows,
  withNamePath,
  kbOperation,
  path,
  withFields,
} from "./operation.ts";
import { modelTypes } from "./shared.ts";

/**
 * A provider with its active models of one type. `provider` and `models[].model` are the values that
 * the API accepts for a model (server §17).
 */
export interface ModelProvider {
  readonly provider: string;
  readonly models: readonly {
    readonly model: string;
    readonly model_type: (typeof modelTypes)[number];
  }[];
}

export const listModels = kbOperation({
  id: "getAvailableModels",
  action: "list models",
  route: "GET /workspaces/current/models/model-types/{model_type}",
  params: { model_type: path.choice(modelTypes, "Model type", { placeholder: "type" }) },
  returns: withFields(
    { provider: "text", models: [{ model: "text" }] },
    withNamePath(
      "provider",
      rows<ModelProvider>(
        "data",
        "provider",
        ["models", ({ models }) => joinTexts(models.map(({ model }) => model))],
        "status",
        ["type", ({ models }) => models[0]?.model_type],
        "... label=label.en_US",
      ),
    ),
  ),
});
