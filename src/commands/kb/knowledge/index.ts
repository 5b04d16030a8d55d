export { searchFlags } from "./command.ts";
export { findKb } from "./find-kb.ts";
export { changedSettings } from "./search.ts";
