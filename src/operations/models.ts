import { joinTexts, list as rows, withNamePath, operation, path, withFields } from "./operation.ts";
import { modelTypes } from "./shared.ts";

interface Localized {
  readonly en_US: string;
  readonly zh_Hans: string;
}

/**
 * A provider with its active models of one type. `provider` and `models[].model` are the values that
 * the API accepts for a model (server §17).
 */
export interface ModelProvider {
  readonly tenant_id: string;
  readonly provider: string;
  readonly label: Localized;
  readonly icon_small: Localized | null;
  readonly icon_small_dark: Localized | null;
  readonly status: string;
  readonly models: readonly {
    readonly model: string;
    readonly label: Localized;
    readonly model_type: (typeof modelTypes)[number];
    readonly features: readonly string[] | null;
    readonly fetch_from: string;
    readonly model_properties: Readonly<Record<string, unknown>>;
    readonly deprecated: boolean;
    readonly status: string;
    readonly load_balancing_enabled: boolean;
    readonly has_invalid_load_balancing_configs: boolean;
  }[];
}

export const listModels = operation({
  id: "getAvailableModels",
  action: "list models",
  key: "dataset",
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
        "… label=label.en_US",
      ),
    ),
  ),
});
