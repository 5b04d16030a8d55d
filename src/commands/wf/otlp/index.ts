export { otlpParams } from "./params.ts";
export { traceStages } from "./stage.ts";

/** What writes and sends traces, which only commands with such a flag load. */
export const traceTools = () => import("./send.ts");
