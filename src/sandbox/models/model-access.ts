import { PROVIDER } from "./catalog.ts";

/** Models and credentials that were taken away from a server; they can change at any time. */
export interface ModelAccess {
  /** Names of models that were switched off. */
  readonly disabled: Set<string>;
  /** Names of providers that have no credentials, such as `langgenius/stub/stub`. */
  readonly withoutCredentials: Set<string>;
}

/** Every model of the first provider; the second one has no credentials. */
export const openModelAccess = (): ModelAccess => ({
  disabled: new Set(),
  withoutCredentials: new Set(["acme/second/second"]),
});

/** Whether the provider of all models has credentials. */
export const hasCredentials = ({ withoutCredentials }: ModelAccess): boolean =>
  !withoutCredentials.has(PROVIDER);
