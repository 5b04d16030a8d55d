/** What other features use of exports. */
export { documentNames } from "./bundle.ts";
