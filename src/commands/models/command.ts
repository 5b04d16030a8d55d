import { listModels } from "../../operations/pipeline.ts";
import { local } from "../../operations/operation.ts";
import { modelTypes } from "../../operations/shared.ts";
import { task } from "../task/command-spec.ts";

export const modelList = task({
  command: "kb model list [type]",
  tool: {},
  summary: "List the active models by provider",
  params: {
    model_type: local.choice(modelTypes, "Model type (default: all types)", {
      placeholder: "type",
    }),
  },
  returns: listModels.returns,
  wraps: listModels,
  pages: true,
  effect: "reads",
  examples: ["kb model list", "kb model list text-embedding", "kb model list rerank -o json"],
});
