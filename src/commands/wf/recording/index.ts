export { checkRecord, recordTo } from "./write.ts";
export type { RecordInput } from "./write.ts";
