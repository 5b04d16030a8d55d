export { checkRecord, recordTo } from "./write.ts";
