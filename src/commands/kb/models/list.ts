import { ApiError } from "../../../errors.ts";
import { listModels } from "../../../operations/pipeline.ts";
import type { ModelProvider } from "../../../operations/pipeline.ts";
import { modelTypes } from "../../../operations/shared.ts";
import type { Context } from "../../task/command-spec.ts";

type ModelType = (typeof modelTypes)[number];

/** Lists the active models of one type or of all; prints a notice for a type the server rejects. */
export async function* run(
  { model_type }: { readonly model_type?: ModelType | undefined },
  context: Context,
): AsyncGenerator<ModelProvider> {
  let remaining = context.options.rows.limit;
  for (const type of model_type === undefined ? modelTypes : [model_type]) {
    for (const provider of await providersOf(type, model_type === undefined, context)) {
      if (remaining-- > 0) yield provider;
    }
    if (remaining <= 0) return;
  }
}

async function providersOf(model_type: ModelType, isOneOfAll: boolean, context: Context) {
  try {
    return await context.api.call(listModels, { model_type });
  } catch (error) {
    if (!isOneOfAll || !(error instanceof ApiError) || error.kind !== "refused") throw error;
    await context.notice(`skipped model type ${model_type}: the server does not support it`);
    return [];
  }
}
