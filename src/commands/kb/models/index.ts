/** What other features use of models. */
export {
  activeModels,
  changeSettings,
  embeddingModel,
  rerankModel,
  withoutModel,
} from "./embedding-model.ts";
