export { savedRecordings } from "./read.ts";
export { rememberEvents } from "./remember.ts";
export { checkRecord, endOfError, endOfRun, RecordingLines, recordTo } from "./write.ts";
export { recordingParams } from "./command.ts";
export { nodesIn } from "./timeline.ts";
