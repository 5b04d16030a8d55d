export { objectsIn, readSavedResults } from "./saved-results.ts";
