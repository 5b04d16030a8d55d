import { local, report } from "../../../../operations/operation.ts";
import { required } from "../../../../operations/shared.ts";
import { task } from "../../../task/command-spec.ts";

export const testFlakyParams = {
  history: local.text("Directory of results that --history has written", { required }),
} as const;

export const testFlaky = task({
  command: "wf test flaky <history>",
  action: "find flaky tests",
  summary: "Find flaky tests in the results of earlier runs",
  about:
    "Judges each test by the last 200 results. flaky: it passed and failed in one command, or changed between\nthe two three times or more while its suite stayed the same. unclear: it changed twice. broken, fixed:\nit changed once, at the time that is shown.",
  params: testFlakyParams,
  returns: report,
  sends: [],
  effect: "reads",
  examples: ["wf test flaky results/", "wf test flaky results/ -o md"],
});
