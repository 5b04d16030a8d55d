/** What other features use of models. */
export {
  activeModels,
  changeSettings,
  embeddingModel,
  modelsIn,
  rerankModel,
  weightedWith,
  withoutModel,
} from "./embedding-model.ts";
export { brokenIndex, repairIndex, splitAgain } from "./repair-index.ts";
