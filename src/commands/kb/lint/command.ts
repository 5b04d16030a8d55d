import { asPage, list, local, onTerminal, withNamePath } from "../../../operations/operation.ts";
import { encodingParam, required } from "../../../operations/shared.ts";
import { task } from "../../task/command-spec.ts";
import { fileFilter, ruleFlags } from "../chunks/index.ts";

export const lintParams = {
  directory: local.text("Directory with the files", { required, placeholder: "dir" }),
  ...fileFilter,
  encoding: encodingParam,
  max_size: local.text("Maximum file size (default 15MiB for uploads, none for text)", {
    placeholder: "size",
  }),
  strict: local.flag("Exit with code 14 on warnings, too"),
  ...ruleFlags,
};

export const kbLint = task({
  command: "kb lint <dir>",
  action: "check files in {dir}",
  meant: ["validate"],
  summary: "Check the files of a directory before upload",
  about:
    "Sends nothing. An error is a file that would be rejected, truncated or confused with another one; a\nwarning is a file that would be imported badly. Errors exit with code 14. Hidden files and those\nof .gitignore and .kbignore are skipped. Texts are split with the given rule, or the automatic one, to\nfind sentences and tables that are cut, and words and characters that the chunks will lack; `kb chunk\npreview` shows the chunks.",
  params: lintParams,
  returns: onTerminal(
    {
      form: "results",
      outcome: "severity",
      name: "file",
      reason: "problem",
      kind: "finding",
      advice: "fix",
      routine: [],
    },
    withNamePath(
      "file",
      asPage("check of files in {dir}", list("", "severity file:name finding problem fix")),
    ),
  ),
  effect: "reads",
  exits: ["gate"],
  examples: [
    "kb lint handbook",
    "kb lint handbook --include '*.md' --strict -o json",
    "kb lint handbook --exclude drafts/ --max-size 50MB",
    "kb lint handbook --rule rule.yaml --server-version 1.14.2",
  ],
});
