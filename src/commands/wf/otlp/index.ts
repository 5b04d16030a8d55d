export { otlpParams } from "./params.ts";
export { runOfTrace, traceStages } from "./stage.ts";
