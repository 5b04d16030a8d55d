/** What other features use of the preview of chunks. */
export { fileFilter, ruleFlags } from "./command.ts";
export { previewText } from "./figures.ts";
export { completeRule, splittingFor, unmatchedSeparators } from "./rule.ts";
export type { Splitting } from "./rule.ts";
