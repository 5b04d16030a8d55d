type Node = Readonly<Record<string, unknown>>;

/** An application whose nodes run one after the other. */
function chain(app: { readonly name: string; readonly mode: string }, nodes: readonly Node[]) {
  const all = nodes.map(({ id, ...data }) => ({ id, data: { title: id, ...data } }));
  const edges = all.slice(1).map(({ id }, index) => ({ source: all[index]?.id, target: id }));
  return { app: { ...app, description: app.name }, workflow: { graph: { nodes: all, edges } } };
}

/** A workflow with these nodes between its start and its end. */
function workflow(name: string, nodes: readonly Node[], outputs: readonly string[]) {
  const start = { type: "start", variables: [{ ...field("query"), required: true }] };
  const end = {
    type: "end",
    outputs: outputs.map((node) => ({
      variable: node,
      value_selector: [node, node.startsWith("review") ? "comment" : "text"],
    })),
  };
  const all = [{ id: "start", ...start }, ...nodes, { id: "end", ...end }];
  return chain({ name, mode: "workflow" }, all);
}

const field = (variable: string) => ({ variable, label: variable, type: "paragraph" });

/** A model that writes; what `first` writes is in the query. */
const model = (id: keyof typeof prompts): Node => ({
  id,
  type: "llm",
  model: { provider: "langgenius/stub/stub", name: "stub-chat", mode: "chat" },
  prompt_template: [{ role: "user", text: prompts[id] }],
});

const prompts = {
  talk: "{{#sys.query#}}",
  first: "{{#start.query#}}",
  second: "[[say:one or two more words to end with]] [[slow:300]]",
};

/** A node that works for some time without an event. */
const wait = (id: string, seconds: number): Node => ({
  id,
  type: "http-request",
  method: "get",
  url: "http://127.0.0.1:9009/slow",
  sandbox: { body: "done", seconds: { value_selector: ["start", "none"], default: seconds } },
});

const review = (id: string): Node => ({
  id,
  type: "human-input",
  form_content: "Please review: {{#start.query#}}",
  inputs: [{ output_variable_name: "comment", type: "paragraph" }],
  user_actions: [{ id: "approve", title: "Approve" }],
  timeout: 1,
  timeout_unit: "day",
});

/** Applications that send text, are silent, and wait for people. */
export const followApps = [
  workflow("writer", [model("first"), wait("pause", 3), model("second")], ["first", "second"]),
  workflow("long", [wait("before", 25), model("first"), wait("after", 70)], ["first"]),
  workflow(
    "reviewed",
    [model("first"), review("review"), model("second"), wait("pause", 3)],
    ["first", "review", "second"],
  ),
];

/** A chat that says what its message asks for. */
export const talker = chain({ name: "talker", mode: "advanced-chat" }, [
  { id: "start", type: "start", variables: [] },
  model("talk"),
  { id: "answer", type: "answer", answer: "{{#talk.text#}}" },
]);
