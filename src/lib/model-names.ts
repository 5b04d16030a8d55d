/** A model of a provider; the server ignores a model without its provider (server §8). */
export interface Model {
  readonly provider: string;
  readonly model: string;
}

/** The notation of a model: `provider/model`. */
export const modelName = ({ provider, model }: Model): string => `${provider}/${model}`;

const shortProvider = ({ provider }: Model): string => provider.split("/").at(-1) ?? "";
const shortName = (each: Model): string => `${shortProvider(each)}/${each.model}`;

/** Whether a text is the provider of a model, in full or by its last part. */
export const isProvider = (text: string, each: Model): boolean =>
  each.provider === text || shortProvider(each) === text;

/**
 * The models that match a text: by `provider/model`, otherwise by the last part of the provider,
 * otherwise by the model alone. Both names may contain slashes, so the whole text is compared.
 */
export function modelsNamed<M extends Model>(text: string, all: readonly M[]): readonly M[] {
  for (const named of [modelName, shortName, ({ model }: Model) => model]) {
    const found = all.filter((each) => named(each) === text);
    if (found.length > 0) return found;
  }
  return [];
}
