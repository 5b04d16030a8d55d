import { own } from "../../lib/json.ts";
import catalog from "./catalog.json" with { type: "json" };

/** The only provider with models. */
export const PROVIDER = "langgenius/stub/stub";

/** Names of providers with their full names; only the first one has models. */
const PROVIDERS: Readonly<Record<string, string>> = {
  [PROVIDER]: PROVIDER,
  stub: PROVIDER,
  "acme/second/second": "acme/second/second",
};

/** The full name of a provider, or undefined if there is none. */
export const findProvider = (name: string): string | undefined => own(PROVIDERS, name);

/** A model in the list of its kind. */
export interface ModelEntry {
  readonly model: string;
  readonly label: string;
  readonly features: readonly string[] | null;
  readonly model_properties: object;
  /** Of an embedding model: the length of its vectors. */
  readonly dimensions?: number;
}

export type ModelKind = keyof typeof catalog;

export const isModelKind = (word: string): word is ModelKind => Object.hasOwn(catalog, word);

/** Whether there is a model of any kind under a name. */
export const isModelName = (name: unknown): boolean =>
  Object.values(catalog)
    .flat()
    .some(({ model }) => model === name);

/** The models of a kind, the default one first. */
export const catalogOf = (kind: ModelKind): readonly ModelEntry[] => catalog[kind];

/** The length of the vectors of an embedding model; undefined for a name that is none. */
export const dimensionsOf = (name: string | null | undefined): number | undefined =>
  catalogOf("text-embedding").find(({ model }) => model === name)?.dimensions;

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
