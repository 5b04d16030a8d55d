export { endOfError, endOfRun, RecordingLines } from "./recording-text.ts";
export { checkRecord, recordTo } from "./write.ts";
export { recordingParams } from "./command.ts";
