/** What other features use of models. */
export {
  activeModels,
  changeSettings,
  embeddingModel,
  rerankModel,
  weightedWith,
  withoutModel,
} from "./embedding-model.ts";
