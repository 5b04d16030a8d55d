export { savedRecordings } from "./read.ts";
export { checkRecord, endOfError, endOfRun, RecordingLines, recordTo } from "./write.ts";
export { recordingParams } from "./command.ts";
