/** Applications for a sandbox that judge answers, each in the shape of an export. */

type Outputs = Readonly<Record<string, unknown>>;

const field = (variable: string, required = false) => ({
  variable,
  label: variable,
  type: "paragraph",
  required,
});

const node = (id: string, type: string, data: object) => ({
  id,
  data: { type, title: `${type} ${id}`, ...data },
});

/** Nodes that follow each other. */
const app = (mode: string, name: string, nodes: readonly { readonly id: string }[]) => ({
  app: { name, description: "Judges.", mode },
  workflow: {
    graph: {
      nodes,
      edges: nodes.slice(1).map(({ id }, index) => ({ source: nodes[index]?.id, target: id })),
    },
  },
});

const start = (...more: readonly object[]) =>
  node("s", "start", {
    variables: [field("question"), field("answer", true), field("criteria"), ...more],
  });

/** A workflow that says the same about every answer. */
export const workflowJudge = (name: string, outputs: Outputs, ...fields: readonly object[]) =>
  app("workflow", name, [
    start(...fields),
    node("c", "code", { sandbox: { outputs } }),
    node("e", "end", {
      outputs: Object.keys(outputs).map((variable) => ({
        variable,
        value_selector: ["c", variable],
      })),
    }),
  ]);

/** A chat that says the same about every answer. */
export const chatJudge = (name: string, answer: string) =>
  app("advanced-chat", name, [
    node("s", "start", { variables: [] }),
    node("a", "answer", { answer }),
  ]);

/** A workflow that gives the answer back, under another name. */
export const parrotJudge = (name: string) =>
  app("workflow", name, [
    start(),
    node("e", "end", { outputs: [{ variable: "text", value_selector: ["s", "answer"] }] }),
  ]);

/** A workflow that waits for human input. */
export const waitingJudge = (name: string) =>
  app("workflow", name, [
    start(),
    node("h", "human-input", {
      form_content: "Is it good?",
      inputs: [],
      user_actions: [{ id: "yes", title: "Yes" }],
      timeout: 1,
      timeout_unit: "hour",
    }),
    node("e", "end", { outputs: [] }),
  ]);

const failing = node("f", "http-request", {
  method: "get",
  url: "http://127.0.0.1:9/none",
  sandbox: { error: "the model is away" },
});

/** A workflow that fails. */
export const failingJudge = (name: string) =>
  app("workflow", name, [start(), failing, node("e", "end", { outputs: [] })]);

/** A chat that fails after the first part of its answer. */
export const halfChat = (name: string) =>
  app("advanced-chat", name, [
    node("s", "start", { variables: [] }),
    node("a", "answer", { answer: "Thirty" }),
    failing,
    node("b", "answer", { answer: "days" }),
  ]);

export const requiredField = (name: string): object => field(name, true);

/** A completion, by the model of the sandbox, which says back what it is asked. */
export const completionJudge = (name: string) => ({
  app: { name, description: "Judges.", mode: "completion" },
  model_config: {
    model: { provider: "langgenius/stub/stub", name: "stub-chat", mode: "chat" },
    pre_prompt: "Is {{answer}} good?",
    user_input_form: [{ paragraph: field("answer", true) }],
  },
});
