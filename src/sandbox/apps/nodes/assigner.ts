import { outputText, variableAt } from "../records/templates.ts";
import { type NodeContext, type NodeResult, result, wait } from "./node.ts";
import type { NodeOf } from "../definitions/node-types.ts";

/** New values by operation. */
const operations: Readonly<Record<string, (old: unknown, value: unknown) => unknown>> = {
  "over-write": (_old, value) => value,
  set: (_old, value) => value,
  clear: (old) => (Array.isArray(old) ? [] : ""),
  append: (old, value) => [...(Array.isArray(old) ? old : []), value],
  "+=": (old, value) =>
    typeof old === "string" ? `${old}${outputText(value)}` : Number(old) + Number(value),
  "-=": (old, value) => Number(old) - Number(value),
  "*=": (old, value) => Number(old) * Number(value),
  "/=": (old, value) => Number(old) / Number(value),
};

/** Changes variables. Its inputs are its own definition (server §15.5). */
export async function executeAssigner(
  context: NodeContext,
  node: NodeOf<"assigner">,
): Promise<NodeResult> {
  const { id: _id, parentId: _parent, sandbox, ...inputs } = node;
  const { run, records } = context;
  const { variables } = run.progress;
  await wait(context, sandbox?.seconds ?? 0);
  const process: Record<string, unknown> = {};
  const updated = node.items.map(({ variable_selector: selector, input_type, ...item }) => {
    const [owner, name] = selector;
    // The value of a variable is its selector.
    const given =
      input_type === "variable" ? variableAt(variables, item.value as typeof selector) : item.value;
    const operate = operations[item.operation];
    if (!operate) throw new Error(`the sandbox has no operation ${item.operation}`);
    const new_value = operate(variableAt(variables, selector), given);
    variables[owner] = { ...variables[owner], [name]: new_value };
    process[name] = new_value;
    if (owner === "conversation") {
      const variable = { conversation_id: run.conversation_id ?? "", name };
      const changes = { value: outputText(new_value), updated_at: records.now() };
      records.conversation_variables.update(variable, changes);
    }
    return { name, selector, value_type: valueType(new_value), new_value };
  });
  return result({ inputs, process: { ...process, __updated_variables: updated } });
}

function valueType(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "float";
  if (Array.isArray(value)) return "array[any]";
  return typeof value;
}
