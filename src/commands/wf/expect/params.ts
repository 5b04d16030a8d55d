import { local } from "../../../operations/operation.ts";

/** Parameters of every command that follows a run. */
export const expectParams = {
  expect: local.text("Expected result, see `wf help conditions`", {
    placeholder: "condition",
    many: true,
  }),
  junit: local.text("JUnit report of the expectations", {
    isOutputPath: true,
  }),
} as const;
