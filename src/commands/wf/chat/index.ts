export { ReplyCollector, citations } from "./collect-reply.ts";
export { ReplyPrinter, isModelLimit } from "./reply-events.ts";
