export { searchFlags } from "./command.ts";
export { changedSettings, findKb } from "./search.ts";
