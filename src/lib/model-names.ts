/** A model as requests name it: the server ignores one without its provider (server §8). */
export interface Model {
  readonly provider: string;
  readonly model: string;
}

/** How a model is written: `provider/model`. */
export const modelName = ({ provider, model }: Model): string => `${provider}/${model}`;

const shortProvider = ({ provider }: Model): string => provider.split("/").at(-1) ?? "";
const shortName = (each: Model): string => `${shortProvider(each)}/${each.model}`;

/** Is it the provider of the model, in full or by its last part? */
export const isProvider = (text: string, each: Model): boolean =>
  each.provider === text || shortProvider(each) === text;

/**
 * Those of the models that a text names: `provider/model`, where there is none the provider by its
 * last part, and where there is none of these the model alone. Both names may hold slashes, so only
 * the whole can be compared.
 */
export function modelsNamed<M extends Model>(text: string, all: readonly M[]): readonly M[] {
  for (const named of [modelName, shortName, ({ model }: Model) => model]) {
    const found = all.filter((each) => named(each) === text);
    if (found.length > 0) return found;
  }
  return [];
}
