import { CliError, reasonOf, usage } from "../../../errors.ts";
import { bytesOf } from "../../../lib/collect.ts";
import { counted, decodeUtf8, withoutMark } from "../../../lib/text.ts";
import type { Input } from "../../../operations/operation.ts";
import { newestServer } from "../../../lib/version.ts";
import { automaticProcessRule } from "../../../operations/shared.ts";
import { type ProcessRule, readProcessRule } from "../../../splitting/rule.ts";
import { seenVersion } from "../../../splitting/split.ts";
import type { Context } from "../../task/command-spec.ts";
import { readServer } from "../../task/read-server.ts";
import {
  extensionOf,
  pointerProblem,
  recoded,
  textKinds,
  textProblem,
  walkFiles,
} from "../sources/index.ts";
import type { FoundFile, Obstacle } from "../sources/index.ts";
import { newestRule } from "../documents/index.ts";
import type { previewParams, ruleFlags } from "./command.ts";
import {
  addFigures,
  figuresLine,
  namedFigures,
  newFigures,
  previewText,
  previewUpload,
} from "./figures.ts";
import type { ChunkPreview, Splitting } from "./figures.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** A figure of a file with two rules. */
interface ComparedFigure {
  readonly file: string;
  readonly figure: string;
  readonly rule: number | null;
  readonly compared: number | null;
}

/**
 * Yields the chunks of texts, one file at a time, or with `compare` the figures of each file. Names the files that
 * are not split on stderr. Throws usage for a path that does not exist, and at the end gate if files were unreadable.
 */
export async function* run(
  input: Input<typeof previewParams>,
  context: Context,
): AsyncGenerator<({ readonly file: string } & ChunkPreview) | ComparedFigure> {
  const splitting = await splittingFor(input, context);
  const { compare, upload } = input;
  const other = compare === undefined ? [] : [completeRule("--compare", compare)];
  const splittings = [splitting, ...other.map((rule) => ({ ...splitting, rule }))];
  for (const separator of splittings.flatMap(({ rule }) => unmatchedSeparators(rule)))
    await context.notice(
      `separator ${JSON.stringify(separator)} is found in no text: servers read it as bytes`,
    );
  const totals = splittings.map(newFigures);
  let unreadable = 0;
  for await (const entry of entriesOf(input, context)) {
    if (context.host.signal.aborted) throw context.abortError();
    const { path: file } = entry;
    const read = await textOf(entry, upload === true, context);
    if ("skipped" in read) {
      await context.notice(`skipped ${file}: ${read.skipped}`);
      if (read.isUnreadable) unreadable++;
      continue;
    }
    const { text } = read;
    const previews = splittings.map((each) =>
      upload ? previewUpload(extensionOf(file), text, each) : previewText(text, each),
    );
    for (const [at, { figures }] of previews.entries())
      addFigures(totals[at] ?? newFigures(), figures);
    if (compare === undefined)
      for (const chunk of previews[0]?.chunks ?? []) yield { file, ...chunk };
    else {
      const [first = [], second = []] = previews.map(({ figures }) =>
        Object.entries(namedFigures(figures)),
      );
      for (const [at, [figure, rule]] of first.entries())
        yield { file, figure, rule, compared: second[at]?.[1] ?? null };
    }
  }
  const names = compare === undefined ? [""] : ["rule: ", "compared: "];
  for (const [at, total] of totals.entries()) context.summary(`${names[at]}${figuresLine(total)}`);
  if (unreadable > 0)
    throw new CliError("gate", `failed to read ${counted(unreadable, "file")}`, {
      isResult: true,
      hint: "lines with `skipped` name files and reasons: repair them, or exclude them with .kbignore",
    });
}

/** The files of the line and of its directories. Throws usage for a path that does not exist. */
async function* entriesOf(
  { file: paths, ...filter }: Input<typeof previewParams>,
  { host: { files } }: Context,
): AsyncGenerator<FoundFile | Obstacle> {
  const directories = new Set<string>();
  for (const path of paths) {
    const status = path === "-" ? undefined : await files.stat(path);
    if (status === null) throw usage(`failed to read ${path}: not found`);
    if (status?.isDirectory) directories.add(path);
  }
  for (const path of paths) {
    if (!directories.has(path)) {
      yield { kind: "file", path, location: path };
      continue;
    }
    const start = path.replace(/(?<!\/)\/+$/, "");
    for await (const entry of walkFiles(path, filter, files))
      if (entry.kind !== "excluded") yield { ...entry, path: `${start}/${entry.path}` };
  }
}

/** The text of a file, or why it is not split: NUL is uploaded, but not sent as text. */
async function textOf(entry: FoundFile | Obstacle, isUpload: boolean, { host }: Context) {
  const { path } = entry;
  if (entry.kind !== "file")
    return { skipped: entry.problem, ...(entry.kind !== "no-file" && { isUnreadable: true }) };
  if (path !== "-" && !textKinds.has(extensionOf(path))) {
    const kinds = [...textKinds].join(", ");
    return { skipped: `only ${kinds} are indexed as they are; servers extract the text of others` };
  }
  try {
    const stored = await (path === "-"
      ? bytesOf(host.stdin.bytes())
      : host.files.read(entry.location));
    const bytes = isUpload ? stored : await recoded(path, stored);
    const unfit = pointerProblem(bytes) ?? textProblem(bytes);
    if (unfit && !(isUpload && unfit.finding === "nul"))
      return { skipped: unfit.problem, isUnreadable: true };
    return { text: decodeUtf8(isUpload ? bytes : withoutMark(bytes)) ?? "" };
  } catch (error) {
    return { skipped: `failed to read: ${reasonOf(error)}`, isUnreadable: true };
  }
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
      `--server-version ${stringifyJson(given)} is not a version`,
      "use a version such as 1.14.2",
    );
  const asked = given === undefined && like !== undefined;
  const server = asked ? await readServer(await context.api.baseUrl(), context) : undefined;
  const version = given ?? server?.version ?? newestServer;
  const seen = seenVersion(version);
  if (seen !== version)
    await context.notice(`version ${version} was not tested; texts are split as by ${seen}`);
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
