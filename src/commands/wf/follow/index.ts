export { followDisplayed, TextStream } from "./displayed.ts";
export { newFollowCounts, NodeTracker } from "./event-filter.ts";
export type { FollowCounts } from "./event-filter.ts";
export { followRun } from "./follow.ts";
export type { FollowResult } from "./follow.ts";
export { noRunId, openStream, startStream } from "./open-stream.ts";
export type { EventStream } from "./open-stream.ts";
