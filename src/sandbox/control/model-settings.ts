import { isObject } from "../../lib/json.ts";
import { isModelName, PROVIDER } from "../models/catalog.ts";
import { hasCredentials, type ModelAccess } from "../models/model-access.ts";

/** The disabled models, and whether their provider has credentials. */
export const modelSettings = (models: ModelAccess) => ({
  disabled: [...models.disabled],
  credentials: hasCredentials(models),
});

/** Changes the settings that the JSON has; throws an Error with the reason if it is invalid. */
export function changeModelSettings(models: ModelAccess, json: string): void {
  const { disabled = [...models.disabled], credentials = hasCredentials(models) } =
    settingsIn(json);
  if (!Array.isArray(disabled) || typeof credentials !== "boolean") throw new Error(EXPECTED);
  const unknown: unknown = disabled.find((name) => !isModelName(name));
  if (unknown !== undefined) throw new Error(`there is no model ${JSON.stringify(unknown)}`);
  models.disabled.clear();
  for (const name of disabled) models.disabled.add(String(name));
  if (credentials) models.withoutCredentials.delete(PROVIDER);
  else models.withoutCredentials.add(PROVIDER);
}

const EXPECTED = 'expected JSON such as {"disabled": ["stub-chat"], "credentials": false}';

function settingsIn(json: string): Readonly<Record<string, unknown>> {
  try {
    const settings: unknown = JSON.parse(json);
    if (isObject(settings)) return settings;
  } catch {
    // the same reason
  }
  throw new Error(EXPECTED);
}
