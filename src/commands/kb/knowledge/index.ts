export { searchFlags } from "./command.ts";
export { changedSettings, findKb, requestedKbs } from "./search.ts";
export type { RequestedKb } from "./search.ts";
