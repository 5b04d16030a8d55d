import { local } from "../../../operations/operation.ts";

export const otlpParams = {
  otlp: local.text("Also send traces to the OpenTelemetry collector at this URL (OTLP over HTTP)", {
    placeholder: "url",
    length: [1, 2048],
  }),
};
