import { list, local, report, withNamePath } from "../../../../operations/operation.ts";
import { required } from "../../../../operations/shared.ts";
import { task } from "../../../task/command-spec.ts";

export const testReviewParams = {
  results: local.text("Results of a run of tests, from --save", { required }),
  baseline: local.text("Compare with these earlier results instead of the suite", {
    placeholder: "file",
  }),
  test: local.text("Only this test", { many: true, placeholder: "name" }),
} as const;

export const testReview = task({
  command: "wf test review <results>",
  action: "review answers",
  summary: "Show the answers of tests that have changed",
  about:
    "Compares the answers with those that the suite expects, or with earlier results. Of several runs of a\ntest it shows the most frequent changed answer. On a terminal it prompts for each one whether it\nbecomes the expected answer: a accepts it, s skips it, q ends the review. The suite keeps its comments\nand its layout.",
  params: testReviewParams,
  returns: report,
  effect: "writes",
  examples: [
    "wf test review results.json",
    "wf test review results.json --baseline before.json -o json",
  ],
});

export const testAcceptParams = {
  results: testReviewParams.results,
  test: local.text("Accept the answer of this test", { many: true, placeholder: "name" }),
  all: local.flag("Accept all changed answers that meet the other conditions"),
  dry_run: local.flag("Show what would be accepted without writing it", { short: "n" }),
} as const;

export const testAccept = task({
  command: "wf test accept <results>",
  action: "accept answers",
  meant: ["test approve", "test update"],
  summary: "Write changed answers into their suites as the expected ones",
  about:
    "Replaces the key answer of the tests, or adds the answer to a list; all else in the file stays as it\nis. A test without an expected answer gets one only if it is named.",
  params: testAcceptParams,
  returns: withNamePath("test", list("", "test:name result reason:sparse file line:count")),
  plans: true,
  effect: "writes",
  examples: [
    "wf test accept results.json --all --dry-run",
    "wf test accept results.json --test repeats",
  ],
});
