import { outputText, variableValues, variableAt } from "../records/run-events.ts";
import { type NodeContext, type NodeResult, result, wait } from "./node.ts";
import type { NodeOf } from "../definitions/app-definitions.ts";

type Values = Readonly<Record<string, unknown>>;

/** The programs of the sandbox, by the name in `sandbox.program`; Python is not run. */
const programs: Readonly<Record<string, (inputs: Values) => Record<string, unknown>>> = {
  /** The parts of a text between vertical bars, without empty ones. */
  split: ({ q }) => ({ items: String(q).split("|").filter(Boolean) }),
  /** The lines of a text, without empty ones. */
  lines: ({ text }) => ({ items: String(text).split("\n").filter(Boolean) }),
  /** A number and its double. */
  pair: ({ arg1 }) => ({ result: [Number(arg1), Number(arg1) * 2] }),
  grade,
  /** A question about a text, in its three longest words. */
  question: ({ text }) => {
    const words = [...new Set(outputText(text ?? "").match(/\p{L}{4,}/gu) ?? [])];
    const longest = words.toSorted((one, other) => other.length - one.length).slice(0, 3);
    return { question: `What is the rule about ${longest.join(" or ")}?` };
  },
};

/** A judge without a model: the share of the words of an expected answer, or of the criteria, in the answer. */
function grade({ answer, expected, criteria }: Values): Record<string, unknown> {
  const wordsIn = (value: unknown) =>
    outputText(value ?? "")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const found = new Set(wordsIn(answer));
  const expectedWords = [expected, criteria].map(wordsIn).find(({ length }) => length > 0) ?? [];
  const needed = [...new Set(expectedWords)];
  const missing = needed.filter((word) => !found.has(word));
  const score = needed.length === 0 ? Number(found.size > 0) : 1 - missing.length / needed.length;
  const reason = `It has ${needed.length - missing.length} of ${needed.length} expected words.`;
  return { score: Math.round(score * 100) / 100, reason };
}

/** Returns fixed outputs, or what a program of the sandbox makes of the variables. */
export function executeCode(
  context: NodeContext,
  { title, variables = [], sandbox }: NodeOf<"code">,
): NodeResult | Promise<NodeResult> {
  const inputs = variableValues(context.run.progress.variables, variables);
  const { seconds = 0, program } = sandbox;
  const run = program === undefined ? () => ({ ...sandbox.outputs }) : programs[program];
  if (!run) throw new Error(`the sandbox has no program ${program} for the node ${title}`);
  const done = result({ inputs, outputs: run(inputs) });
  return seconds > 0 ? wait(context, seconds).then(() => done) : done;
}

/** Fills `{{ name }}`; other statements of Jinja stay as they are. */
export function executeTemplate(
  context: NodeContext,
  { template, variables }: NodeOf<"template-transform">,
): NodeResult {
  const inputs = variableValues(context.run.progress.variables, variables);
  const output = template.replace(/\{\{\s*(\w+)\s*\}\}/g, (text, name: string) =>
    Object.hasOwn(inputs, name) ? outputText(inputs[name]) : text,
  );
  return result({ inputs, outputs: { output } });
}

/** Imitates a request: waits and answers with a fixed body, or fails; nothing is sent. */
export async function executeRequest(
  context: NodeContext,
  node: NodeOf<"http-request">,
): Promise<NodeResult> {
  const { sandbox } = node;
  const { host, pathname } = new URL(node.url);
  const method = node.method.toUpperCase();
  const process = { request: `${method} ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n` };
  if (sandbox.error !== undefined) {
    const failure = { type: "HttpRequestNodeError", outputs: { status_code: 0, headers: {} } };
    return result({ process, status: "failed", error: sandbox.error, failure });
  }
  const { body } = sandbox;
  const seconds = variableAt(context.run.progress.variables, sandbox.seconds.value_selector);
  await wait(context, typeof seconds === "number" ? seconds : sandbox.seconds.default);
  const headers = {
    server: "sandbox",
    date: context.clock.now().toUTCString(),
    "content-length": String(body.length),
  };
  return result({ process, outputs: { status_code: 200, body, headers, files: [] } });
}
