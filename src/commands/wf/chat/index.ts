export { ReplyCollector, citations } from "./reply-events.ts";
export { ReplyPrinter, isModelLimit } from "./reply-events.ts";
