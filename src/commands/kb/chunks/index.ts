/** What other features use of the preview of chunks. */
export { fileFilter, ruleFlags } from "./command.ts";
export { previewText } from "./figures.ts";
export type { Splitting } from "./figures.ts";
export { completeRule, splittingFor, unmatchedSeparators } from "./preview.ts";
