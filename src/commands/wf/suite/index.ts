export { readSavedResults } from "./saved-results.ts";
