export { requireKind, applicationOf, warnIfUnlogged, isChatMode } from "./application.ts";
export type { Application } from "./application.ts";
export { run } from "./open.ts";
