/** The sandbox's own applications that ask no model. */
import {
  type AnyNode,
  type AppDefinition,
  defineApp,
  type Edge,
  type ErrorHandling,
  type InputField,
  type NodeData,
  type NodeOf,
  type NodeType,
  type Selector,
} from "./app-definitions.ts";

/** Connects nodes, each with the next one. */
const chain = (nodes: readonly AnyNode[]): Edge[] =>
  nodes.slice(1).map(({ id: target }, index) => ({ source: nodes[index]?.id ?? "", target }));

/** Makes applications of nodes; those outside of loops and iterations are connected in their order. */
const appsOf =
  (mode: AppDefinition["mode"]) =>
  (
    name: string,
    description: string,
    nodes: readonly AnyNode[],
    more: Partial<AppDefinition> = {},
  ): AppDefinition => {
    const edges = chain(nodes.filter(({ parentId }) => parentId === undefined));
    return defineApp({ name, description, mode, nodes, edges, ...more });
  };

export const workflow = appsOf("workflow");
export const chatflow = appsOf("advanced-chat");

/** Edges as `a>b`, or `a.branch>b` for a branch of `a`. */
export const edgesOf = (text: string): Edge[] =>
  text.split(" ").map((edge) => {
    const [from = "", target = ""] = edge.split(">");
    const [source = "", sourceHandle] = from.split(".");
    return { source, target, ...(sourceHandle !== undefined && { sourceHandle }) };
  });

/** A text that is required, of any length. */
export const textField = (variable: string, label = variable): InputField => ({
  variable,
  label,
  type: "paragraph",
  required: true,
  max_length: null,
});

/** A node of a type. */
export const node = <Type extends NodeType>(
  id: string,
  type: Type,
  title: string,
  data: NodeData[Type] & { readonly parentId?: string },
) => ({ id, type, title, ...data }) as unknown as NodeOf<Type>; // the same fields

export const startNode = (id: string, ...variables: readonly InputField[]) =>
  node(id, "start", "Start", { variables });

/** An end node: its outputs with their sources by name. */
export const endNode = (id: string, outputs: Readonly<Record<string, Selector>>) =>
  node(id, "end", "End", { outputs: variablesFrom(outputs) });

/** The variables of a node, with their sources by name. */
export const variablesFrom = (sources: Readonly<Record<string, Selector>>) =>
  Object.entries(sources).map(([variable, value_selector]) => ({ variable, value_selector }));

export const answerNode = (id: string, title: string, answer: string) =>
  node(id, "answer", title, { answer });

const start = startNode("s", { ...textField("query"), type: "text-input" });
const chatStart = startNode("s");

/** An application whose second node cannot reach another server. */
const failing = (name: string, description: string, title: string, handling: ErrorHandling) => {
  const error = "[Errno 111] Connection refused";
  const request = { method: "get", url: "http://127.0.0.1:9/none", ...handling };
  const failed = node("f", "http-request", title, { ...request, sandbox: { error } });
  return workflow(name, description, [start, failed, endNode("e1", RESULT)]);
};

const RESULT: Readonly<Record<string, Selector>> = { result: ["f", "body"] };

export const threeTries: ErrorHandling = { retry_config: { max_retries: 2, retry_interval: 300 } };
const fallback: ErrorHandling = {
  error_strategy: "default-value",
  default_value: [{ key: "body", value: "fallback" }],
};

/** A form with a comment, which may have a default, and two buttons. */
function formNode(id: string, text: string, preset: object | null = null, rejectStyle = "default") {
  const inputs = [{ output_variable_name: "comment", type: "paragraph", default: preset }];
  const user_actions = [
    { id: "approve", title: "Approve", button_style: "primary" },
    { id: "reject", title: "Reject", button_style: rejectStyle },
  ];
  const form_content = `${text}\n\n{{#$output.comment#}}`;
  const timeout = { timeout: 1, timeout_unit: "hour" } as const;
  return node(id, "human-input", "Review", { form_content, inputs, user_actions, ...timeout });
}

const documents = (...allowed_file_upload_methods: readonly string[]) => ({
  allowed_file_types: ["document"],
  allowed_file_extensions: [],
  allowed_file_upload_methods,
});

const everyInput: readonly InputField[] = [
  { variable: "name", label: "Name", type: "text-input", required: true, max_length: 20 },
  { variable: "text", label: "Text", type: "paragraph", max_length: 400 },
  { variable: "kind", label: "Kind", type: "select", required: true, options: ["a", "b"] },
  { variable: "count", label: "Count", type: "number" },
  { variable: "flag", label: "Flag", type: "checkbox" },
  { variable: "doc", label: "Doc", type: "file", ...documents("local_file", "remote_url") },
  { variable: "docs", label: "Docs", type: "file-list", max_length: 3, ...documents("local_file") },
];

/** All that a server declares of an assigner: its inputs are its own definition (server §15.5). */
const counter: NodeData["assigner"] & { readonly parentId: string } & Record<string, unknown> = {
  parentId: "l",
  desc: "",
  version: "2",
  error_strategy: null,
  default_value: null,
  retry_config: { max_retries: 0, retry_interval: 0, retry_enabled: false },
  items: [{ variable_selector: ["l", "num"], input_type: "constant", operation: "+=", value: 1 }],
  isInIteration: false,
  isInLoop: true,
  loop_id: "l",
  selected: false,
  sandbox: { seconds: 0.1 },
};

/** Workflows and chatflows. */
export const plainApps: readonly AppDefinition[] = [
  workflow("echo", "Returns the query.", [start, endNode("e1", { query: ["s", "query"] })]),
  workflow("slow", "Takes 6 seconds, or the number of seconds in the input.", [
    startNode("s", ...start.variables, { variable: "seconds", label: "Seconds", type: "number" }),
    node("f", "http-request", "Wait", {
      method: "get",
      url: "http://127.0.0.1:9009/slow",
      sandbox: { body: "slow body", seconds: { value_selector: ["s", "seconds"], default: 6 } },
    }),
    endNode("e1", RESULT),
  ]),
  workflow("inputs", "Takes every kind of input.", [
    startNode("s", ...everyInput),
    endNode("e1", { name: ["s", "name"], count: ["s", "count"] }),
  ]),
  workflow("loop", "Counts to five in a loop.", [
    start,
    node("l", "loop", "Loop", {
      loop_count: 10,
      loop_variables: [{ label: "num", value: 1 }],
      break_conditions: [{ variable_selector: ["l", "num"], comparison_operator: "≥", value: 5 }],
    }),
    node("v", "assigner", "Variable Assigner", counter),
    endNode("e1", { num: ["l", "num"] }),
  ]),
  workflow("batch", "Makes a pair from each number of a list.", [
    start,
    node("c", "code", "Generate Array", { sandbox: { outputs: { result: [1, 2, 3] } } }),
    node("i", "iteration", "Iteration", {
      iterator_selector: ["c", "result"],
      output_selector: ["p", "result"],
      flatten_output: true,
    }),
    node("p", "code", "Generate Pair", {
      parentId: "i",
      sandbox: { program: "pair", seconds: 0.1 },
      variables: variablesFrom({ arg1: ["i", "item"] }),
    }),
    endNode("e1", { output: ["i", "output"] }),
  ]),
  failing("broken", "Fails: its second node cannot connect to another server.", "Fetch", {}),
  failing("retry", "Tries a node three times, then fails.", "Unsteady", threeTries),
  failing(
    "flaky",
    "Tries a node three times, then uses its default value: partial success.",
    "Unsteady",
    { ...threeTries, ...fallback },
  ),
  failing(
    "tolerant",
    "A node fails and its default value is used: partial success.",
    "Fetch",
    fallback,
  ),
  workflow("review", "Pauses until a form approves or rejects the query.", [
    start,
    formNode("h", "Please review: {{#s.query#}}", {
      type: "constant",
      selector: [],
      value: "looks fine",
    }),
    endNode("e1", { result: ["h", "comment"] }),
  ]),
  workflow(
    "two-reviews",
    "Pauses until two forms in parallel branches are submitted.",
    [
      start,
      formNode("h1", "First {{#s.query#}}"),
      formNode("h2", "Second {{#s.query#}}"),
      endNode("e1", { result: ["h1", "comment"] }),
      endNode("e2", { result: ["h2", "comment"] }),
    ],
    { edges: edgesOf("s>h1 s>h2 h1>e1 h2>e2") },
  ),
  chatflow("chat-review", "Replies, waits for human input, replies again.", [
    chatStart,
    answerNode("a", "First", "Before the review. "),
    formNode("h", "Please review: {{#sys.query#}}", null, "ghost"),
    answerNode("b", "Second", "After the review: {{#h.comment#}}"),
  ]),
  chatflow("chat", "Replies with a fixed text that quotes the message.", [
    chatStart,
    answerNode("a", "Answer", "You said: {{#sys.query#}}. This is a fixed answer."),
  ]),
  chatflow(
    "convo",
    "Keeps a variable per conversation.",
    [chatStart, answerNode("a", "Answer", "Mood is {{#conversation.mood#}}.")],
    { variables: [{ name: "mood", value: "calm", description: "how the user feels" }] },
  ),
];
