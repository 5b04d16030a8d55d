export {
  requireKind,
  applicationOf,
  knownApplication,
  warnIfUnlogged,
  isChatMode,
  run,
} from "./application.ts";
export type { Application } from "./application.ts";
