import { own } from "../../lib/json.ts";

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

/** The numbers of dimensions of the embedding models. */
export const DIMENSIONS: Readonly<Record<string, number>> = {
  "stub-embed": 256,
  "stub-embed-64": 64,
};

/** A model in the list of its kind. */
export interface ModelEntry {
  readonly model: string;
  readonly label: string;
  readonly features: readonly string[] | null;
  readonly model_properties: object;
}

/** A model; its label is made of the words of its name. */
const entry = (
  model: string,
  model_properties: object,
  features: readonly string[] | null = null,
): ModelEntry => {
  const words = model.split("-").map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return { model, label: words.join(" "), features, model_properties };
};

const catalog = {
  llm: [
    entry("stub-chat", { mode: "chat", context_size: 32768 }, [
      "multi-tool-call",
      "agent-thought",
      "stream-tool-call",
      "tool-call",
      "vision",
    ]),
    entry("stub-plain", { mode: "chat", context_size: 8192 }, ["agent-thought"]),
  ],
  "text-embedding": [
    entry("stub-embed", { context_size: 8192, max_chunks: 16 }),
    entry("stub-embed-64", { context_size: 2048, max_chunks: 4 }),
  ],
  rerank: [entry("stub-rerank", { context_size: 4096 })],
  speech2text: [
    entry("stub-stt", {
      file_upload_limit: 25,
      supported_file_extensions: "flac,mp3,mp4,mpeg,mpga,m4a,ogg,wav,webm",
    }),
  ],
  tts: [
    entry("stub-tts", {
      default_voice: "anna",
      word_limit: 3500,
      audio_type: "mp3",
      max_workers: 5,
      voices: [
        { mode: "anna", name: "Anna", language: ["en-US", "de-DE"] },
        { mode: "bob", name: "Bob", language: ["en-US"] },
      ],
    }),
  ],
  moderation: [entry("stub-moderation", { max_chunks: 32, max_characters_per_chunk: 2000 })],
};

export type ModelKind = keyof typeof catalog;

export const isModelKind = (word: string): word is ModelKind => Object.hasOwn(catalog, word);

/** Whether there is a model of any kind under a name. */
export const isModelName = (name: unknown): boolean =>
  Object.values(catalog)
    .flat()
    .some(({ model }) => model === name);

/** The models of a kind, the default one first. */
export const catalogOf = (kind: ModelKind): readonly ModelEntry[] => catalog[kind];

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
