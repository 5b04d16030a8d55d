export { startRecord } from "./record.ts";
