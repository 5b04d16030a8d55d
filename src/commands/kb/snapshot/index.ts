/** What other features use of exports. */
export { diffSetting } from "./diff.ts";
