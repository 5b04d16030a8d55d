import { usage } from "../../../errors.ts";
import { newestServer } from "../../../lib/version.ts";
import type { Input } from "../../../operations/operation.ts";
import { automaticProcessRule } from "../../../operations/shared.ts";
import { type ProcessRule, readProcessRule } from "../../../splitting/rule.ts";
import { seenVersion } from "../../../splitting/split.ts";
import { readServer } from "../../shared/login/index.ts";
import type { Context } from "../../task/command-spec.ts";
import { newestRule } from "../documents/index.ts";
import type { ruleFlags } from "./command.ts";

/** How texts are split. */
export interface Splitting {
  readonly rule: ProcessRule;
  /** Of the server. */
  readonly version: string;
}

type RuleInput = Input<typeof ruleFlags> & { readonly like?: string | undefined };

/**
 * The rule and the server version of a line; sends requests only with `like`, the ID of a knowledge base. Names a
 * version that was not seen to split texts on stderr. Throws usage for several rules, or an incomplete one.
 */
export async function splittingFor(input: RuleInput, context: Context): Promise<Splitting> {
  const { like, rule, process_rule } = input;
  const given = Object.entries({ "--like": like, "--rule": rule, "--process-rule": process_rule })
    .filter(([, value]) => value !== undefined)
    .map(([flag]) => flag);
  if (given.length > 1)
    throw usage(`${given.join(" and ")} are different rules`, "use one of them");
  const sent =
    like === undefined
      ? (rule ?? process_rule ?? automaticProcessRule)
      : await newestRule(like, context);
  return {
    rule: completeRule(given[0] ?? "", sent),
    version: await versionFor(input, context),
  };
}

/** A rule with all its values. Throws usage that names the flag and the missing part. */
export const completeRule = (flag: string, rule: unknown): ProcessRule =>
  readProcessRule(rule, (part) =>
    usage(
      `${flag}${part} is missing`,
      'a rule has a mode, and rules with pre_processing_rules and segmentation; or it is {"mode":"automatic"}',
    ),
  );

async function versionFor({ like, server_version: given }: RuleInput, context: Context) {
  if (given !== undefined && !/^\d+\.\d+/.test(given))
    throw usage(
      `--server-version ${JSON.stringify(given)} is not a version`,
      "use a version such as 1.14.2",
    );
  const asked = given === undefined && like !== undefined;
  const server = asked ? await readServer(await context.api.baseUrl(), context) : undefined;
  const version = given ?? server?.version ?? newestServer;
  const seen = seenVersion(version);
  if (seen !== version)
    await context.notice(`version ${version} was not seen; texts are split as by ${seen}`);
  return version;
}

/** The separators of a rule that are in no text: servers read them as bytes (server §9.9). */
export const unmatchedSeparators = ({ mode, rules }: ProcessRule): string[] =>
  [
    mode === "automatic" || rules.parent_mode === "full-doc" ? undefined : rules.segmentation,
    rules.subchunk_segmentation,
  ]
    .map((segmentation) => segmentation?.separator ?? "")
    // oxlint-disable-next-line no-control-regex -- ASCII has them
    .filter((separator) => /[^\x00-\x7f]/.test(separator));
