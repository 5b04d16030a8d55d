/** What other features use of exports. */
export { documentNames, readManifest, writeManifest } from "./bundle.ts";
export { exportBundle } from "./export.ts";
export { importBundle } from "./import.ts";
