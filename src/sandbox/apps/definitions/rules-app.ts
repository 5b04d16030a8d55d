/** The kinds of application that can answer by rules. */
export const ruleModes = ["chat", "advanced-chat", "workflow", "completion"] as const;

/** What a file of rules says about its application. */
interface RulesApp {
  readonly name: string;
  readonly mode?: (typeof ruleModes)[number];
  readonly description?: string;
  /** Names of the inputs (default: `query`, unless messages are sent). */
  readonly inputs?: readonly string[];
}

/** Named in usage and in the details of nodes; it is never called. */
const model = {
  provider: "langgenius/stub/stub",
  name: "stub-chat",
  mode: "chat",
  completion_params: {},
};

const basicModes: readonly string[] = ["chat", "completion"];

/** The application of a file of rules, in the shape of an exported one. */
export function exportOfRules(file: RulesApp): object {
  const { name, mode = "chat", description = "Answers by the rules of a file." } = file;
  const { inputs = mode.endsWith("chat") ? [] : ["query"] } = file;
  const app = { name, description, mode };
  const features = { retriever_resource: { enabled: true } };
  const field = (variable: string) => ({ variable, label: variable, required: false });
  if (basicModes.includes(mode)) {
    const user_input_form = inputs.map((input) => ({ paragraph: field(input) }));
    const pre_prompt = inputs.map((input) => `{{${input}}}`).join("\n");
    return { app, model_config: { model, pre_prompt, user_input_form, ...features } };
  }
  const nodes = [
    startNode(inputs.map((input) => ({ ...field(input), type: "paragraph" }))),
    modelNode(inputs, mode),
    mode === "workflow" ? endNode : answerNode,
  ];
  const edges = [
    { source: "start", target: "model" },
    { source: "model", target: "end" },
  ];
  return { app, workflow: { features, graph: { nodes, edges } } };
}

const startNode = (variables: readonly object[]) => ({
  id: "start",
  data: { type: "start", title: "Start", variables },
});

const modelNode = (inputs: readonly string[], mode: string) => {
  const asked = inputs.map((input) => `{{#start.${input}#}}`);
  const text = [...asked, ...(mode === "workflow" ? [] : ["{{#sys.query#}}"])].join("\n");
  const prompt_template = [{ role: "user", text }];
  return { id: "model", data: { type: "llm", title: "Model", model, prompt_template } };
};

const endNode = {
  id: "end",
  data: {
    type: "end",
    title: "End",
    outputs: [{ variable: "text", value_selector: ["model", "text"] }],
  },
};

const answerNode = {
  id: "end",
  data: { type: "answer", title: "Answer", answer: "{{#model.text#}}" },
};
