/** Nodes that ask a model. */
import { isObject, tryParseJson } from "../../../lib/json.ts";
import { type Completion, type Prompt, wholeReply } from "../../models/language-model.ts";
import { ModelError } from "../../models/marks.ts";
import { costOf } from "../../models/tokens.ts";
import { atLeast } from "../../../lib/version.ts";
import { tokenize } from "../../models/words.ts";
import { outputText, renderTemplate, variableAt } from "../records/run-events.ts";
import type { NodeOf, Selector } from "../definitions/app-definitions.ts";
import examples from "./classifier-prompts.json" with { type: "json" };
import { modelFailure, type NodeContext, type NodeResult, result } from "./node.ts";

/** A message to a model, as `process_data.prompts` shows it (server §15.5). */
interface PromptMessage {
  readonly role: string;
  readonly text: string;
  readonly files: readonly object[];
}

/** Asks the model; streams its text while it comes. */
export async function executeModel(context: NodeContext, node: NodeOf<"llm">): Promise<NodeResult> {
  const passages = passagesOf(context, node);
  const files = filesOf(context, node);
  const inputs = {
    ...(files.length > 0 && { "#files#": files }),
    ...(passages.length > 0 && { "#context#": passages.join("\n") }),
    ...namesOf(node),
  };
  const prompts = promptsOf(context, node, passages, files);
  const schema = node.structured_output_enabled ? node.structured_output?.schema : undefined;
  try {
    const completion = await streamText(context, node, { ...askedIn(prompts), passages, schema });
    return modelResult(node, inputs, prompts, completion);
  } catch (error) {
    if (error instanceof ModelError) return modelFailure(error, inputs);
    throw error;
  }
}

const namesOf = ({ model }: NodeOf<"llm" | "question-classifier">) => ({
  model_provider: model.provider,
  model_name: model.name,
});

/** What the model is asked: the last message of the user; the others are only counted. */
function askedIn(prompts: readonly PromptMessage[]): Prompt {
  const asked = prompts.findLast(({ role, text }) => role === "user" && text !== "");
  const others = prompts.filter((prompt) => prompt !== asked).map(({ text }) => text);
  return { system: others.join(""), user: asked?.text ?? "" };
}

const processOf = (
  node: NodeOf<"llm" | "question-classifier">,
  prompts: readonly PromptMessage[],
  { usage }: Completion,
) => ({ model_mode: "chat", prompts, usage, finish_reason: "stop", ...namesOf(node) });

/**
 * Streams the pieces of the text, and two empty ones at its end; since 1.16 what is thought before it as
 * events of its own, if the node wants it apart (server §15.5).
 */
async function streamText(
  { model, stream, reason, signal, version }: NodeContext,
  { id, parentId, reasoning_format }: NodeOf<"llm">,
  prompt: Prompt,
): Promise<Completion> {
  if (!model) throw new Error("the sandbox runs without models");
  const selector: Selector = [id, "text"];
  const separates = reasoning_format === "separated" && atLeast(version, "1.16.0");
  let isThinking = false;
  const put = (piece: string, isLast = false) => {
    // Nodes in loops and iterations send no text (server §15.5).
    if (parentId !== undefined) return;
    if (!separates) return stream(selector, piece, isLast);
    const wasThinking = isThinking;
    isThinking =
      /<(\/?)think>/.exec(piece)?.[1] === "" || (isThinking && !piece.includes("</think>"));
    if (isThinking) reason(id, piece.replace("<think>", ""), false);
    else if (!wasThinking) stream(selector, piece, isLast);
  };
  const completion = await wholeReply(model.stream(prompt, signal), put);
  if (separates && parentId === undefined) reason(id, "", true);
  else put("");
  put("", true);
  return completion;
}

function modelResult(
  node: NodeOf<"llm">,
  inputs: object,
  prompts: readonly PromptMessage[],
  completion: Completion,
): NodeResult {
  const { usage } = completion;
  const { text, reasoning } = separated(node, completion.text);
  const outputs = { text, reasoning_content: reasoning, usage, finish_reason: "stop" };
  const process = processOf(node, prompts, completion);
  const succeeded = result({ inputs, process, outputs, metadata: costOf(usage), usage });
  if (!node.structured_output_enabled) return succeeded;
  const structured_output = parsed(text);
  if (structured_output !== undefined) {
    return { ...succeeded, outputs: { ...outputs, structured_output } };
  }
  const reason = "Failed to parse structured output";
  const error = `${reason}: ${reason}: ${text}`; // recorded
  return result({ status: "failed", inputs, error, failure: { type: "OutputParserError" } });
}

const REASONING = /<think>([\s\S]*?)<\/think>\s*/g;

/** Takes the reasoning out of a text, if the node wants it apart. */
function separated({ reasoning_format }: NodeOf<"llm">, text: string) {
  if (reasoning_format !== "separated") return { text, reasoning: "" };
  const thoughts = [...text.matchAll(REASONING)].map(([, thought = ""]) => thought.trim());
  return { text: text.replace(REASONING, ""), reasoning: thoughts.join("\n") };
}

function parsed(text: string): unknown {
  const value = tryParseJson(text);
  return isObject(value) || Array.isArray(value) ? value : undefined;
}

/** The passages in the context of a node: the results of a knowledge node, or a text. */
function passagesOf({ run }: NodeContext, { context }: NodeOf<"llm">): string[] {
  const [owner, name, ...path] = context?.variable_selector ?? [];
  if (!context?.enabled || owner === undefined || name === undefined) return [];
  const value = variableAt(run.progress.variables, [owner, name, ...path]);
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items
    .map((item) => outputText(isObject(item) && "content" in item ? item["content"] : item))
    .filter(Boolean);
}

const filesOf = ({ run }: NodeContext, { vision }: NodeOf<"llm">): readonly object[] => {
  const files = run.inputs["sys.files"];
  return vision?.enabled && Array.isArray(files) ? files.filter(isObject) : [];
};

function promptsOf(
  context: NodeContext,
  node: NodeOf<"llm">,
  passages: readonly string[],
  files: readonly object[],
): PromptMessage[] {
  const { variables } = context.run.progress;
  const message = (role: string, text: string): PromptMessage => ({ role, text, files: [] });
  const prompts = node.prompt_template.map(({ role, text }) =>
    message(role, renderTemplate(text.replaceAll("{{#context#}}", passages.join("\n")), variables)),
  );
  if (!node.memory) return prompts;
  const { query_prompt_template: template, window } = node.memory;
  const limit = window?.enabled ? window.size : 0;
  const earlier = limit > 0 ? dialogue(context).slice(-limit) : [];
  for (const { query, answer } of earlier) {
    prompts.push(message("user", query), message("assistant", answer));
  }
  const query = "{{#sys.query#}}";
  prompts.push(message("user", renderTemplate(template || query, variables)));
  if (files.length > 0) prompts.push({ role: "user", text: "", files: shownFiles(files) });
  return prompts;
}

const dialogue = ({ run, records }: NodeContext) =>
  records.messages
    .list({ conversation_id: run.conversation_id ?? "" }, "position")
    .filter(({ id, status }) => id !== run.message_id && status === "normal");

/** Each file is shown twice, its content cut (recorded). */
const shownFiles = (files: readonly object[]): object[] =>
  Array.from({ length: 2 * files.length }, () => SHOWN_FILE);

const SHOWN_FILE = { type: "image", data: "data:image...[TRUNCATED]...", detail: "high" };

/** Lets the model choose a class; the run takes the branch with its ID. */
export async function executeClassifier(
  { run, model, signal }: NodeContext,
  node: NodeOf<"question-classifier">,
): Promise<NodeResult> {
  if (!model) throw new Error("the sandbox runs without models");
  const query = outputText(variableAt(run.progress.variables, node.query_variable_selector));
  const inputs = { query, ...namesOf(node) };
  const messages = classifierPrompts(node, query);
  try {
    const completion = await wholeReply(model.stream(askedIn(messages), signal));
    const index = chosenClass(node, query, completion.text);
    const chosen = node.classes[index];
    if (!chosen) throw new Error(`the node ${node.id} has no classes`);
    const { usage } = completion;
    const { id: class_id, name: class_name } = chosen;
    const process = processOf(node, messages, completion);
    const outputs = { class_name, class_label: `CLASS ${index + 1}`, class_id, usage };
    const metadata = costOf(usage);
    return result({ inputs, process, outputs, metadata, usage, handle: class_id });
  } catch (error) {
    if (error instanceof ModelError) return modelFailure(error, inputs);
    throw error;
  }
}

/** The server's prompt: instructions, two examples, and the question with the classes. */
function classifierPrompts(node: NodeOf<"question-classifier">, query: string): PromptMessage[] {
  const categories = node.classes.map(({ id, name }) => ({ category_id: id, category_name: name }));
  const asked = `
    {"input_text": ["${query}"],
    "categories": ${JSON.stringify(categories)},
    "classification_instructions": ["${node.instruction ?? ""}"]}
`;
  return [...examples, { role: "user", text: asked }].map((prompt) => ({ ...prompt, files: [] }));
}

/**
 * The index of the class that a reply names. A reply without one, as the model of the sandbox gives
 * it without marks, means the class with a word of the question; otherwise the first.
 */
function chosenClass({ classes }: NodeOf<"question-classifier">, query: string, reply: string) {
  const sent = tryParseJson(reply);
  const category = isObject(sent) ? sent["category_id"] : undefined;
  const named = classes.findIndex(({ id }) => id === category);
  if (named !== -1) return named;
  const asked = new Set(tokenize(query));
  const alike = classes.findIndex(({ name }) => tokenize(name).some((word) => asked.has(word)));
  return Math.max(0, alike);
}
