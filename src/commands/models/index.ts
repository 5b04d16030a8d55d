/** What other features use of models. */
export {
  activeModels,
  embeddingModel,
  modelsIn,
  rerankModel,
  weightedWith,
  withoutModel,
} from "./models.ts";
