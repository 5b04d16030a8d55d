/** What other features use of models. */
export {
  activeModels,
  changeSettings,
  embeddingModel,
  modelsIn,
  rerankModel,
  weightedWith,
  withoutModel,
} from "./models.ts";
export { brokenIndex, repairIndex, splitAgain } from "./repair-index.ts";
