export { newFollowCounts, NodeTracker } from "./event-filter.ts";
export { noRunId } from "./follow-errors.ts";
export { followMany } from "./follow-many.ts";
export { followRun } from "./follow.ts";
export type { FollowResult } from "./follow.ts";
export { openStream, startStream } from "./open-stream.ts";
export type { EventStream } from "./open-stream.ts";
export { countEvents, filterKinds, followDisplayed } from "./stages.ts";
export { TextStream } from "./stream-text.ts";
