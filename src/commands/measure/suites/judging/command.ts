import { getAppInfo, getAppParameters } from "../../../../operations/apps.ts";
import { sendMessage, createCompletion } from "../../../../operations/chats.ts";
import { local, report } from "../../../../operations/operation.ts";
import { required } from "../../../../operations/shared.ts";
import { runWorkflow } from "../../../../operations/workflows.ts";
import { task } from "../../../task/command-spec.ts";

export const testCalibrateParams = {
  labels: local.text("Answers that people have marked (CSV, JSON Lines)", { required }),
  judge: local.text("Application that judges", { required, placeholder: "app" }),
  criteria: local.text("What a good answer is, for rows without criteria"),
  at_least: local.number("Lowest score that passes (default 0.5)", { range: [0, 1] }),
  repeat: local.integer("How often the judge is asked about each answer (default 1)", {
    range: [1, 25],
  }),
  pairs: local.flag("Test whether the order of the parts or the length of the answer matters"),
  level: local.number("Level of significance of --pairs (default 0.05)", { range: [0.0001, 0.5] }),
  at_least_kappa: local.number("Fail if the 95 % interval of kappa begins below this (14)", {
    range: [-1, 1],
  }),
  save: local.text("Save the calibration to this file", { isOutputPath: true }),
} as const;

export const testCalibrate = task({
  command: "wf test calibrate <labels>",
  action: "calibrate a judge",
  summary: "Compare a judge with people's marks",
  about:
    "Each row is an answer: question, answer, expected, label (pass or fail) or mark (0 to 1), and as needed\ncriteria and id. Prints how often judge and people agree, Cohen's kappa, and how many bad answers passed\nand good ones failed; for scores also the at_least that fits best. Reports of runs with this judge show\nthe last calibration on this machine.\n\n--pairs has each answer judged up to three times: as usual, with the parts of the message in reverse\norder (chats only), and padded with its own first sentence.\n\nThe first note says whether the judge is better than chance, by the interval of kappa. Runs with a judge\nthat is not shown to be warn.",
  parallel: true,
  params: testCalibrateParams,
  returns: report,
  sends: [getAppInfo, getAppParameters, sendMessage, createCompletion],
  wraps: runWorkflow,
  effect: "writes",
  runsToEnd: true,
  exits: ["partial", "gate"],
  examples: [
    "wf test calibrate labels.csv --judge grader",
    "wf test calibrate labels.csv --judge grader --at-least-kappa 0.4",
    "wf test calibrate labels.csv --judge grader --repeat 3 --pairs --save calibration.json",
  ],
});
