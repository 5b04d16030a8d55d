export { requireKind, applicationOf, warnIfUnlogged, isChatMode, run } from "./application.ts";
export type { Application } from "./application.ts";
