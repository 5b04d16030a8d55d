import { CliError, notFound, usage } from "../../../../errors.ts";
import { commandLine } from "../../../../lib/command-line.ts";
import { readableYaml } from "../../../../lib/formats/yaml.ts";
import { isObject, tryParseJson, stringifyJson } from "../../../../lib/json.ts";
import { sum } from "../../../../lib/numbers.ts";
import { counted } from "../../../../lib/text.ts";
import { listAnnotations } from "../../../../operations/annotations.ts";
import { getAppInfo } from "../../../../operations/apps.ts";
import type { Input } from "../../../../operations/operation.ts";
import { listWorkflowLogs } from "../../../../operations/workflows.ts";
import type { WorkflowRun } from "../../../../operations/workflows.ts";
import { isSuccess } from "../../../../runs/outcome.ts";
import { textOfOutputs } from "../../../../runs/text.ts";
import { askChoice } from "../../../task/ask.ts";
import type { Context } from "../../../task/command-spec.ts";
import { prepareOutput, writeOutput } from "../../../task/files.ts";
import { requireKind } from "../../../wf/app/index.ts";
import { MAX_YAML_SIZE } from "../../../wf/expect/index.ts";
import { logQuery, runDetail } from "../../../wf/logs/index.ts";
import type { LogFilters } from "../../../wf/logs/index.ts";
import { suiteSources } from "./command.ts";
import type { testInitParams } from "./command.ts";
import { collectDrafts, questionDraft } from "./draft.ts";
import type { DraftedTests, DraftOrReason, NamedDraft } from "./draft.ts";
import { promptfooDrafts } from "./from-promptfoo.ts";
import { conversationDrafts, feedbackDrafts, rowDrafts } from "./sources.ts";

type InitFlags = Input<typeof testInitParams>;
type SuiteSource = NonNullable<InitFlags["from"]>;
type TestInitInput = InitFlags & { readonly from: SuiteSource };

const DEFAULT_LIMIT = 100;

/** Where tests come from. */
interface Source {
  /** In a sentence: `annotations of the application "chat"`. */
  readonly name: string;
  readonly drafts: AsyncIterable<DraftOrReason> | Iterable<DraftOrReason>;
  /** What it has that no suite has, with its place. */
  readonly others?: readonly string[];
}

/**
 * Makes a suite from questions and answers that exist. Yields its text, or, with `out`, the counts
 * after it is written. Throws `not-found` if nothing can be made of the source, `usage` for what does not
 * suit it.
 */
export async function* run(flags: InitFlags, context: Context): AsyncGenerator<unknown> {
  const input = { ...flags, from: flags.from ?? (await chosenSource(flags, context)) };
  const { out = "-" } = input;
  if (out !== "-") await checkTarget(out, input, context);
  const { name, drafts, others = [] } = await sourceOf(input, context);
  const found = await collectDrafts(drafts, input.limit ?? DEFAULT_LIMIT);
  const unused = others.map((each) => `not taken: ${each}`);
  for (const each of unused) await context.notice(each);
  const { app } = context.options.flags;
  const tests = found.drafts;
  if (tests.length === 0) throw notFound(`no tests to create: ${countsOf(found, name)}`);
  const text = await readableYaml({
    comment: [
      `Tests made from ${name}.`,
      "The expected answers are drafts: read them before you rely on them.",
      ...unused,
    ],
    value: { ...(app !== undefined && { app }), tests: tests.map(testOf) },
    list: "tests",
  });
  const size = Buffer.byteLength(text);
  if (size > MAX_YAML_SIZE)
    throw usage(
      `the suite would have ${size} bytes; one may have ${MAX_YAML_SIZE}`,
      "use --limit for fewer tests",
    );
  if (out === "-") yield text;
  else {
    await writeOutput("--out", out, text, context.host);
    const skipped = sum(found.skipped.values());
    yield { file: out, tests: tests.length, duplicates: found.duplicates, skipped };
  }
  await context.notice(countsOf(found, name));
  if (out !== "-")
    await context.notice(
      `wrote ${out}; read the answers, then run ${commandLine("wf test run", [out])}`,
    );
}

/** Asks on a terminal for a source that the flags and the application allow. Throws usage elsewhere. */
async function chosenSource({ file }: InitFlags, context: Context): Promise<SuiteSource> {
  const choice = (value: SuiteSource, note: string) => ({
    label: value,
    note,
    names: [value],
    value,
  });
  const question = "Which questions and answers?";
  if (!context.options.input)
    throw usage("--from is required", `add --from (one of: ${suiteSources.join(", ")})`);
  if (file !== undefined) {
    const rows = choice("rows", "a file of questions and answers");
    return askChoice(question, [rows, choice("promptfoo", "a configuration")], context, rows);
  }
  const { mode } = await context.api.call(getAppInfo, {});
  if (mode === "workflow") return "logs";
  const all = [
    choice("feedback", "messages that were liked"),
    choice("conversations", "the first message of each conversation of the end user"),
    choice("annotations", "questions with the answers that someone wrote"),
  ];
  return askChoice(question, all, context, all[0]);
}

async function checkTarget(
  out: string,
  { overwrite }: TestInitInput,
  { host }: Context,
): Promise<void> {
  await prepareOutput(`--out ${out}`, out, host);
  if (!overwrite && (await host.files.stat(out)) !== null)
    throw usage(`${out} already exists`, "name another file, or add --overwrite to replace it");
}

/** Flags of single sources: parameter, name, and the sources. */
const ownFlags: readonly (readonly [keyof TestInitInput, string, ...SuiteSource[]])[] = [
  ["keyword", "--keyword", "annotations", "logs"],
  ["created_at__after", "--since", "logs"],
  ["created_at__before", "--until", "logs"],
  ["created_by_end_user_session_id", "--end-user", "logs"],
  ["created_by_account", "--account", "logs"],
  ["where", "--where", "logs"],
  ["file", "FILE", "rows", "promptfoo"],
  ["input", "--input", "rows", "promptfoo"],
  ["kb", "--kb", "rows"],
  ["query", "--query", "promptfoo"],
  ["judge", "--judge", "promptfoo"],
];

/** A file beside a source that reads none is meant as the one to write. */
const outHint = ({ from, file, out }: TestInitInput): string | undefined =>
  file === undefined || out !== undefined || from === "rows" || from === "promptfoo"
    ? undefined
    : `to write ${file}: ${commandLine("wf test init", [], { from, out: file })}`;

/** The source that the flags describe. Throws `usage` for a flag of another one. */
async function sourceOf(input: TestInitInput, context: Context): Promise<Source> {
  const { from, file = "" } = input;
  for (const [name, flag, ...sources] of ownFlags)
    if (input[name] !== undefined && !sources.includes(from))
      throw usage(`--from ${from} cannot be used with ${flag}`, outHint(input));
  if (from === "rows" || from === "promptfoo") {
    const kind = from === "rows" ? "CSV or JSON Lines file" : "configuration";
    if (file === "") throw usage(`--from ${from} needs a file`, `name a ${kind}`);
    if (from === "promptfoo")
      return { name: `promptfoo ${file}`, ...(await promptfooDrafts(file, input, context)) };
    const { drafts, taken } = await rowDrafts(file, input, context);
    await context.notice(`${file}: ${taken}`);
    return { name: `rows of ${file}`, drafts };
  }
  const { name = "" } = await context.api.call(getAppInfo, {});
  const of = (word: string) => `${word} of the application ${JSON.stringify(name)}`;
  if (from === "annotations")
    return { name: of("annotations"), drafts: annotationDrafts(input.keyword, context) };
  if (from === "feedback") return { name: of("liked messages"), drafts: feedbackDrafts(context) };
  if (from === "conversations")
    return {
      name: of(`conversations of ${JSON.stringify(await context.api.user())}, end user`),
      drafts: conversationDrafts(context),
    };
  return { name: of("runs"), drafts: logDrafts(input, context) };
}

/** `12 tests from liked messages of …; 2 duplicates; 1 without an answer`. */
function countsOf({ drafts, duplicates, skipped, isCut }: DraftedTests, source: string): string {
  const parts = [
    `${counted(drafts.length, "test")} from ${source}`,
    ...(duplicates > 0 ? [`${counted(duplicates, "duplicate")} dropped`] : []),
    ...[...skipped].map(([reason, count]) => `${count} skipped: ${reason}`),
    ...(isCut ? ["there are more: use --limit"] : []),
  ];
  return parts.join("; ");
}

/** Annotations: questions with the answers that someone has written. */
async function* annotationDrafts(
  keyword: string | undefined,
  context: Context,
): AsyncGenerator<DraftOrReason> {
  const filter = keyword === undefined ? {} : { keyword };
  for await (const { question, answer } of context.api.rows(listAnnotations, filter))
    yield questionDraft({ query: question }, answer);
}

/** A test with the keys of a suite. */
function testOf({ name, turns, answers, outputs, keys }: NamedDraft): Record<string, unknown> {
  const [only, ...others] = turns;
  const [answer, ...alternatives] = answers;
  const conditions = Object.entries(outputs).map(
    ([name, value]) => `output ${JSON.stringify(name)} is ${stringifyJson(value)}`,
  );
  const expected = {
    ...(answer !== undefined && {
      answer: alternatives.length === 0 ? answer : answers,
      compare: "similar",
    }),
    ...(conditions.length > 0 && { expect: conditions }),
    ...keys,
  };
  if (others.length === 0) return { name, ...only, ...expected };
  const last = turns.length - 1;
  return {
    name,
    turns: turns.map((turn, index) => (index === last ? { ...turn, ...expected } : turn)),
  };
}

/** Filters of the log that are of use for runs that have succeeded. */
type DraftFilters = Omit<LogFilters, "status" | "failed">;

/** Succeeded runs of the log, newest first, with their inputs and outputs: one request each. */
async function* logDrafts(filters: DraftFilters, context: Context): AsyncGenerator<DraftOrReason> {
  await requireKind("workflow", context).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error;
    const [liked, written] = ["feedback", "annotations"].map((from) =>
      commandLine("wf test init", [], { from }),
    );
    throw error.with({ hint: `chats have no logs: use ${liked} or ${written}` });
  });
  const { sent, keeps } = logQuery({ ...filters, status: "succeeded" });
  for await (const log of context.api.rows(listWorkflowLogs, sent)) {
    if (keeps && !keeps(log)) continue;
    const detail = await runDetail(log, context);
    yield detail ? draftOf(detail) : "that the server has removed";
  }
}

function draftOf({ status, inputs: json, outputs: stored }: WorkflowRun): DraftOrReason {
  if (!isSuccess(status)) return "that have not succeeded";
  const values = tryParseJson(json ?? "");
  if (!isObject(values)) return "without inputs";
  const inputs = Object.fromEntries(
    Object.entries(values).filter(([name]) => !name.startsWith("sys.")),
  );
  const files = values["sys.files"];
  if (Array.isArray(files) && files.length > 0) return "with files";
  const outputs = typeof stored === "string" ? tryParseJson(stored) : stored;
  if (!isObject(outputs) || Object.keys(outputs).length === 0) return "without outputs";
  const expected = Object.fromEntries(Object.entries(outputs).filter(isRepeatable));
  const text = textOfOutputs({ fields: { outputs } });
  const hasAnswer = Object.keys(expected).length === 0 && text !== undefined && text.trim() !== "";
  return { turns: [{ inputs }], answers: hasAnswer ? [text] : [], outputs: expected };
}

/** Longest text of an output that a model is expected to repeat. */
const MAX_REPEATED = 80;

/** IDs, times and addresses differ in each run. */
const differs =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\d|\d\d:\d\d|\d{10,}|:\/\//i;

/** Whether an output is likely to be the same again: short, and no ID, time or address. */
function isRepeatable([name, value]: readonly [string, unknown]): boolean {
  if (name === "" || name.includes(".")) return false; // a condition would take it for a path
  if (typeof value === "number") return !differs.test(String(value));
  if (typeof value !== "string") return typeof value === "boolean";
  const isShort = value.trim() !== "" && value.length <= MAX_REPEATED && !/[\r\n]/.test(value);
  return isShort && !differs.test(value);
}
