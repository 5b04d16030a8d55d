import { MAX_LOGGED_ERRORS } from "../../../host/error-log.ts";
import { list, local, onTerminal, withNamePath } from "../../../operations/operation.ts";
import { task } from "../../task/command-spec.ts";

const capabilityList = onTerminal(
  { form: "checks", result: "supported", name: "capability", text: "how" },
  withNamePath("capability", list("", "capability supported how")),
);

export const doctorParams = {
  capabilities: local.flag("Show what the server supports"),
  last_error: local.integer("Show the last error, or the nth last", {
    range: [1, MAX_LOGGED_ERRORS],
    placeholder: "[n]",
  }),
};

export const doctor = task({
  command: "doctor",
  action: "run diagnostics",
  meant: ["ping", "health"],
  summary: "Diagnose configuration and connectivity",
  about:
    "Changes nothing. Each check that fails names the next step.\n\n--capabilities requests IDs that do not exist to detect supported routes: kb with the knowledge key,\nwf with the application key. Write-only features are judged by the server version.\n\n--last-error sends nothing. The state directory keeps the last 20 errors of requests and internal\nerrors: command line, error, last requests, and the failed request as a curl command. Credentials\nare redacted, long words truncated, and bodies reduced to fields and lengths. KB_KEEP_ERRORS=0\ndisables this log.",
  params: doctorParams,
  returns: onTerminal(
    { form: "checks", result: "result", name: "check", text: "found", next: "next" },
    withNamePath("check", list("", "check result found next")),
  ),
  output({ last_error, capabilities }) {
    if (last_error !== undefined) return { kind: "json" };
    return capabilities ? capabilityList : undefined;
  },
  sendsRequests: "reads that check the server and the keys",
  effect: "reads",
  examples: [
    "kb doctor",
    "kb doctor --capabilities",
    "kb doctor --last-error",
    `kb doctor --jq '.[] | select(.result != "ok") | .next'`,
  ],
});
