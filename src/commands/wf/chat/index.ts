export { ReplyCollector, citations, ReplyPrinter, isModelLimit } from "./reply-events.ts";
