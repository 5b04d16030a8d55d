import { isObject, tryParseJson } from "../../../lib/json.ts";
import { ModelError } from "../../models/model-error.ts";
import { tokenize } from "../../models/words.ts";
import { outputText, variableAt } from "../records/templates.ts";
import prompts from "./classifier-prompts.json" with { type: "json" };
import { askedIn, costOf, namesOf, processOf, type PromptMessage } from "./llm.ts";
import { modelFailure, type NodeContext, type NodeResult, result } from "./node.ts";
import type { NodeOf } from "../definitions/node-types.ts";
import { wholeReply } from "../../models/language-model.ts";

/** Lets the model choose a class; the run takes the branch with its ID. */
export async function executeClassifier(
  { run, model, signal }: NodeContext,
  node: NodeOf<"question-classifier">,
): Promise<NodeResult> {
  if (!model) throw new Error("the sandbox runs without models");
  const query = outputText(variableAt(run.progress.variables, node.query_variable_selector));
  const inputs = { query, ...namesOf(node) };
  const messages = promptsOf(node, query);
  try {
    const completion = await wholeReply(model.stream(askedIn(messages), signal));
    const index = chosenClass(node, query, completion.text);
    const chosen = node.classes[index];
    if (!chosen) throw new Error(`the node ${node.id} has no classes`);
    return result({
      inputs,
      process: processOf(node, messages, completion),
      outputs: {
        class_name: chosen.name,
        class_label: `CLASS ${index + 1}`,
        class_id: chosen.id,
        usage: completion.usage,
      },
      metadata: costOf(completion),
      usage: completion.usage,
      handle: chosen.id,
    });
  } catch (error) {
    if (error instanceof ModelError) return modelFailure(error, inputs);
    throw error;
  }
}

/** The server's prompt: instructions, two examples, and the question with the classes. */
function promptsOf(node: NodeOf<"question-classifier">, query: string): PromptMessage[] {
  const categories = node.classes.map(({ id, name }) => ({ category_id: id, category_name: name }));
  const asked = `
    {"input_text": ["${query}"],
    "categories": ${JSON.stringify(categories)},
    "classification_instructions": ["${node.instruction ?? ""}"]}
`;
  return [...prompts, { role: "user", text: asked }].map((prompt) => ({ ...prompt, files: [] }));
}

/**
 * The index of the class that a reply names. A reply without one, as the model of the sandbox gives
 * it without marks, means the class with a word of the question; otherwise the first.
 */
function chosenClass(
  { classes }: NodeOf<"question-classifier">,
  query: string,
  reply: string,
): number {
  const sent = tryParseJson(reply);
  const category = isObject(sent) ? sent["category_id"] : undefined;
  const named = classes.findIndex(({ id }) => id === category);
  if (named !== -1) return named;
  const asked = new Set(tokenize(query));
  const alike = classes.findIndex(({ name }) => tokenize(name).some((word) => asked.has(word)));
  return Math.max(0, alike);
}
