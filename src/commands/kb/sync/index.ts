/** What other features use of `kb sync`. */
export { MAX_NAME_LENGTH } from "./local-files.ts";
export { syncDirectory } from "./sync.ts";
