export { searchFlags } from "./command.ts";
export { changedSettings, findKb } from "./search.ts";
export { requestedKbs } from "./requested.ts";
export type { RequestedKb } from "./requested.ts";
