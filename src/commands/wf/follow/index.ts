export { answerText } from "./answer-text.ts";
export type { TextEnd } from "./answer-text.ts";
export { followMany } from "./follow-many.ts";
export { followRun, newFollowCounts } from "./follow.ts";
export type { FollowResult } from "./follow.ts";
export { openStream } from "./open-stream.ts";
export type { EventStream } from "./open-stream.ts";
export { checkStart } from "./rejected-start.ts";
export { countEvents, filterKinds, rememberTaskId, warnAboutGaps } from "./stages.ts";
