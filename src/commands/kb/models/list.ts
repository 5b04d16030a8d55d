import { ApiError } from "../../../errors.ts";
import { listModels } from "../../../operations/models.ts";
import type { ModelProvider } from "../../../operations/models.ts";
import { modelTypes } from "../../../operations/shared.ts";
import type { Context } from "../../command-spec.ts";

type ModelType = (typeof modelTypes)[number];

/** Lists the active models of one type, or of all; a type that the server does not know is said. */
export async function* run(
  { model_type }: { readonly model_type?: ModelType | undefined },
  context: Context,
): AsyncGenerator<ModelProvider> {
  let left = context.options.rows.limit;
  for (const type of model_type === undefined ? modelTypes : [model_type]) {
    for (const provider of await providersOf(type, model_type === undefined, context)) {
      if (left-- > 0) yield provider;
    }
    if (left <= 0) return;
  }
}

async function providersOf(model_type: ModelType, oneOfAll: boolean, context: Context) {
  try {
    return await context.call(listModels, { model_type });
  } catch (error) {
    if (!oneOfAll || !(error instanceof ApiError) || error.kind !== "refused") throw error;
    await context.notice(`the server does not list models of type ${model_type}`);
    return [];
  }
}
