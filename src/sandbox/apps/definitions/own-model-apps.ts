/** The sandbox's own applications that ask its model, and the one that judges answers. */
import { PROVIDER } from "../../models/catalog.ts";
import { defineApp } from "./app-definitions.ts";
import type { AppDefinition, ModelConfig, NodeData, Selector, Tool } from "./app-definitions.ts";
import {
  answerNode,
  chatflow,
  edgesOf,
  endNode,
  node,
  startNode,
  textField,
  threeTries,
  variablesFrom,
  workflow,
} from "./own-plain-apps.ts";

const model = { provider: PROVIDER, name: "stub-chat" };
const on = { enabled: true };

/** Asks the model; without `user`, the message of a chat follows the instructions. */
const modelNode = (
  id: string,
  title: string,
  [system, user]: readonly [system: string, user?: string],
  more: Partial<NodeData["llm"]> & { readonly parentId?: string } = {},
) =>
  node(id, "llm", title, {
    model,
    prompt_template: [
      { role: "system", text: system },
      ...(user === undefined ? [] : [{ role: "user", text: user } as const]),
    ],
    ...more,
  });

const searchNode = (query_variable_selector: Selector) =>
  node("search", "knowledge-retrieval", "Search", {
    query_variable_selector,
    dataset_ids: ["*"],
    multiple_retrieval_config: { top_k: 3 },
  });

/** Instructions and context of a model that is given what the search has found. */
const FROM_CONTEXT = "You answer from the context.\n{{#context#}}";
const context = { enabled: true, variable_selector: ["search", "result"] } as const;

const optionalField = (name: string) => ({ ...textField(name), required: false });

/** An application without nodes: a chat, a completion or an agent. */
const basicApp = (
  name: string,
  mode: AppDefinition["mode"],
  description: string,
  config: ModelConfig,
): AppDefinition => defineApp({ name, mode, description, config });

/** What an assistant and a completion offer beside their replies. */
const media = {
  speech_to_text: on,
  text_to_speech: { enabled: true, voice: "anna", language: "en-US" },
  file_upload: {
    enabled: true,
    allowed_file_types: ["image"],
    allowed_file_extensions: [],
    allowed_file_upload_methods: ["local_file", "remote_url"],
    number_limits: 3,
    image: { enabled: true, number_limits: 3, transfer_methods: ["local_file", "remote_url"] },
  },
};

/** The settings of an agent with a tool that tells the time. */
const agentSettings = (tool: Pick<Tool, "provider_id">, label: Tool["sandbox"]["label"]) => ({
  model,
  pre_prompt: "Use the tools.",
  user_input_form: [],
  agent_mode: {
    strategy: "function_call" as const,
    tools: [{ ...tool, tool_name: "current_time", sandbox: { label, output: "2026" } }],
  },
  suggested_questions_after_answer: on,
});

/** Chats, agents, a completion and workflows. */
export const modelApps: readonly AppDefinition[] = [
  chatflow(
    "ask",
    "Answers from the knowledge bases and cites them.",
    [
      startNode("start"),
      searchNode(["sys", "query"]),
      modelNode("model", "Answer", [FROM_CONTEXT], {
        context,
        memory: { query_prompt_template: "{{#sys.query#}}", window: { enabled: true, size: 10 } },
      }),
      answerNode("answer", "Answer", "{{#model.text#}}"),
    ],
    { features: { retriever_resource: on, suggested_questions_after_answer: on } },
  ),
  basicApp("assistant", "chat", "Answers questions from all knowledge bases.", {
    model,
    pre_prompt: "Answer from the context. Write about {{topic}}.",
    user_input_form: [
      { "text-input": { label: "Topic", variable: "topic", default: "", max_length: 48 } },
    ],
    dataset_configs: {
      datasets: { datasets: [{ dataset: { id: "*" } }] },
      top_k: 3,
      score_threshold_enabled: true,
      score_threshold: 0.2,
    },
    opening_statement: "Ask me about your documents.",
    suggested_questions: ["What is in the documents?"],
    suggested_questions_after_answer: on,
    ...media,
  }),
  basicApp("agent", "agent-chat", "Looks up the time when it is asked to.", {
    ...agentSettings(
      { provider_id: "time" },
      {
        zh_Hans: "获取当前时间",
        en_US: "Current Time",
        pt_BR: "Current Time",
        ja_JP: "Current Time",
      },
    ),
  }),
  {
    since: "1.16.0",
    ...basicApp(
      "new-agent",
      "agent",
      "Looks up the time when it is asked to; works as agents do since 1.16.",
      {
        ...agentSettings({}, { en_US: "current_time", zh_Hans: "current_time" }),
        opening_statement: "Hello, I am an agent.",
        suggested_questions: ["What year is it?"],
        text_to_speech: { enabled: false },
        sensitive_word_avoidance: { enabled: false, type: "", config: {} },
        file_upload: {
          enabled: true,
          allowed_file_extensions: ["JPG", "JPEG", "PNG", "GIF", "WEBP", "SVG"],
          allowed_file_types: ["document", "image", "audio", "video"],
          allowed_file_upload_methods: ["local_file", "remote_url"],
          image: on,
          number_limits: 3,
        },
      },
    ),
  },
  basicApp("completion", "completion", "Completes a text.", {
    model,
    pre_prompt: "{{query}}",
    user_input_form: [
      { paragraph: { label: "Text", variable: "query", required: true, default: "" } },
    ],
    more_like_this: on,
    ...media,
  }),
  workflow("write", "A model writes; it tries three times.", [
    startNode("start", textField("query", "What to write")),
    modelNode("model", "Write", ["You write short texts.", "{{#start.query#}}"], threeTries),
    endNode("end", { result: ["model", "text"] }),
  ]),
  workflow(
    "triage",
    "A model chooses the branch: complaints get an apology, questions an answer from the knowledge bases.",
    [
      startNode("start", textField("query", "Message")),
      node("kind", "question-classifier", "Kind", {
        query_variable_selector: ["start", "query"],
        model,
        classes: [
          { id: "1", name: "complaint" },
          { id: "2", name: "question" },
        ],
      }),
      modelNode("apology", "Apologize", ["You apologize politely.", "{{#start.query#}}"], {
        error_strategy: "default-value",
        default_value: [{ key: "text", value: "We are sorry." }],
      }),
      searchNode(["start", "query"]),
      modelNode("reply", "Answer", [FROM_CONTEXT, "{{#start.query#}}"], {
        context,
        error_strategy: "fail-branch",
      }),
      endNode("apologized", { reply: ["apology", "text"], kind: ["kind", "class_name"] }),
      endNode("answered", { reply: ["reply", "text"], kind: ["kind", "class_name"] }),
      endNode("unanswered", { error: ["reply", "error_message"] }),
    ],
    {
      edges: edgesOf(
        "start>kind kind.1>apology kind.2>search search>reply apology>apologized reply>answered " +
          "reply.fail-branch>unanswered",
      ),
    },
  ),
  workflow("summarize", "A model summarizes each line of a text, three at a time.", [
    startNode("start", textField("text", "Text")),
    node("lines", "code", "Lines", {
      variables: variablesFrom({ text: ["start", "text"] }),
      sandbox: { program: "lines" },
    }),
    node("each", "iteration", "Each line", {
      iterator_selector: ["lines", "items"],
      output_selector: ["sentence", "text"],
      is_parallel: true,
      parallel_nums: 3,
      error_handle_mode: "remove-abnormal-output",
    }),
    modelNode(
      "sentence",
      "Sentence",
      ["You say in a sentence what a text says.", "{{#each.item#}}"],
      { parentId: "each" },
    ),
    modelNode("summary", "Summary", ["You join sentences to a summary.", "{{#each.output#}}"]),
    endNode("end", { summary: ["summary", "text"], sentences: ["each", "output"] }),
  ]),
  workflow("questioner", "Asks a question about a passage, in its longest words.", [
    startNode("s", textField("passage")),
    {
      id: "c",
      type: "code",
      title: "Longest Words",
      sandbox: { program: "question" },
      variables: variablesFrom({ text: ["s", "passage"] }),
    },
    endNode("e1", { question: ["c", "question"] }),
  ]),
  workflow("grader", "Judges an answer by the words that are expected of it.", [
    startNode(
      "s",
      optionalField("question"),
      textField("answer"),
      optionalField("criteria"),
      optionalField("expected"),
    ),
    node("c", "code", "Compare Words", {
      sandbox: { program: "grade" },
      variables: variablesFrom({
        answer: ["s", "answer"],
        criteria: ["s", "criteria"],
        expected: ["s", "expected"],
      }),
    }),
    endNode("e1", { score: ["c", "score"], reason: ["c", "reason"] }),
  ]),
];
