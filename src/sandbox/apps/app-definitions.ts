/**
 * The applications of the sandbox as data: their inputs and their nodes, in order. `engine.ts` runs
 * them; shapes and texts are those of the recorded server.
 */
import { atLeast } from "../http/router.ts";

/** The source of a value: the ID of a node (or `sys`, `conversation`) and the name of an output. */
export type Selector = readonly [node: string, name: string];

/** A field of the input form. */
export interface AppInputField {
  readonly control:
    | "text-input"
    | "paragraph"
    | "select"
    | "number"
    | "checkbox"
    | "file"
    | "file-list";
  readonly variable: string;
  readonly label: string;
  readonly required?: true;
  /** Maximum number of characters, or of files. */
  readonly max?: number;
  readonly options?: readonly string[];
  /** Accepted transfer methods of a file: upload or URL. */
  readonly methods?: readonly string[];
}

/** A field of a human input form. */
export interface AppFormInput {
  readonly output_variable_name: string;
  readonly type: "paragraph";
  readonly default: {
    readonly type: "constant";
    readonly selector: readonly string[];
    readonly value: string;
  } | null;
}

/** A button of a human input form. */
export interface AppFormAction {
  readonly id: string;
  readonly title: string;
  readonly button_style: "primary" | "default" | "accent" | "ghost";
}

interface Node {
  readonly id: string;
  readonly title: string;
}

/** Outputs the inputs of the run. */
export type StartNode = Node & { readonly type: "start" };
/** Collects the outputs of the run from earlier nodes. */
export type EndNode = Node & {
  readonly type: "end";
  readonly outputs: Readonly<Record<string, Selector>>;
};
/** Sends text in a chatflow. */
export type AnswerNode = Node & {
  readonly type: "answer";
  /** Fixed text and variables, in order. */
  readonly parts: readonly (string | Selector)[];
};
/** Imitates a program: always returns the same outputs. */
export type CodeNode = Node & {
  readonly type: "code";
  readonly outputs: Readonly<Record<string, unknown>>;
};
/** Imitates a request to another server; nothing is sent. */
export type RequestNode = Node & {
  readonly type: "http-request";
  readonly request: string;
  readonly body: string;
  /** Duration of the request in seconds: an input of the run, or the default. */
  readonly takes?: { readonly input: Selector; readonly default: number };
  /** Error text of a request that fails. */
  readonly error?: string;
  readonly retries?: { readonly times: number; readonly pause: number };
  /** Body to use if the request fails, so that the run continues. */
  readonly fallback?: string;
};
/** Pauses the run until a form is submitted. */
export type HumanInputNode = Node & {
  readonly type: "human-input";
  readonly content: string;
  readonly inputs: readonly AppFormInput[];
  readonly actions: readonly AppFormAction[];
  /** Seconds until the form expires. */
  readonly expires: number;
};
/** Increments a variable, one inner node per round, until `until` or for `count` rounds. */
export type LoopNode = Node & {
  readonly type: "loop";
  readonly variable: string;
  readonly from: number;
  readonly until: number;
  readonly count: number;
  readonly inner: Node & { readonly type: "assigner" };
  /** Seconds per round. */
  readonly takes: number;
};
/** Runs one inner node for each number of a list and joins the outputs. */
export type IterationNode = Node & {
  readonly type: "iteration";
  readonly over: Selector;
  readonly inner: Node & { readonly type: "code" };
  /** Seconds per round. */
  readonly takes: number;
};

/** Waits for several forms in parallel; each branch has its own end node. */
export type ReviewsNode = Node & {
  readonly type: "reviews";
  readonly branches: readonly { readonly review: HumanInputNode; readonly end: EndNode }[];
};

export type NodeDefinition =
  | ReviewsNode
  | StartNode
  | EndNode
  | AnswerNode
  | CodeNode
  | RequestNode
  | HumanInputNode
  | LoopNode
  | IterationNode;

/** A conversation variable with its initial value. */
export interface VariableDefinition {
  readonly name: string;
  readonly value: string;
  readonly description: string;
}

/** An application of the sandbox. */
export interface AppDefinition {
  readonly name: string;
  readonly description: string;
  readonly mode: "workflow" | "advanced-chat";
  readonly inputs: readonly AppInputField[];
  readonly nodes: readonly NodeDefinition[];
  readonly variables?: readonly VariableDefinition[];
}

const query: AppInputField = {
  control: "text-input",
  variable: "query",
  label: "query",
  required: true,
};
const start: StartNode = { type: "start", id: "s", title: "Start" };
const end = (outputs: EndNode["outputs"]): EndNode => ({
  type: "end",
  id: "e1",
  title: "End",
  outputs,
});

const failingRequest: Pick<RequestNode, "type" | "request" | "body" | "error"> = {
  type: "http-request",
  request: "GET /none HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n",
  body: "",
  error: "[Errno 111] Connection refused",
};
const twoRetries = { times: 2, pause: 0.3 };

const reviewNode = (
  fields: Pick<HumanInputNode, "content" | "inputs" | "actions">,
): HumanInputNode => ({
  type: "human-input",
  id: "h",
  title: "Review",
  expires: 3600,
  ...fields,
});
const approve: AppFormAction = { id: "approve", title: "Approve", button_style: "primary" };

/** All applications of the sandbox. */
export const applications: readonly AppDefinition[] = [
  {
    name: "echo",
    description: "Returns the query.",
    mode: "workflow",
    inputs: [query],
    nodes: [start, end({ query: ["s", "query"] })],
  },
  {
    name: "review",
    description: "Pauses until a form approves or rejects the query.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      reviewNode({
        content: "Please review: {{#s.query#}}\n\n{{#$output.comment#}}",
        inputs: [
          {
            output_variable_name: "comment",
            type: "paragraph",
            default: { type: "constant", selector: [], value: "looks fine" },
          },
        ],
        actions: [approve, { id: "reject", title: "Reject", button_style: "default" }],
      }),
      end({ result: ["h", "comment"] }),
    ],
  },
  {
    name: "two-reviews",
    description: "Pauses until two forms in parallel branches are submitted.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      {
        type: "reviews",
        id: "r",
        title: "Reviews",
        branches: ["First", "Second"].map((word, index) => ({
          review: {
            ...reviewNode({
              content: `${word} {{#s.query#}}\n\n{{#$output.comment#}}`,
              inputs: [{ output_variable_name: "comment", type: "paragraph", default: null }],
              actions: [approve, { id: "reject", title: "Reject", button_style: "default" }],
            }),
            id: `h${index + 1}`,
          },
          end: { ...end({ result: [`h${index + 1}`, "comment"] }), id: `e${index + 1}` },
        })),
      },
    ],
  },
  {
    name: "slow",
    description: "Takes 6 seconds, or the number of seconds in the input.",
    mode: "workflow",
    inputs: [query, { control: "number", variable: "seconds", label: "Seconds" }],
    nodes: [
      start,
      {
        type: "http-request",
        id: "f",
        title: "Wait",
        request: "GET /slow HTTP/1.1\r\nHost: 127.0.0.1:9009\r\n\r\n",
        body: "slow body",
        takes: { input: ["s", "seconds"], default: 6 },
      },
      end({ result: ["f", "body"] }),
    ],
  },
  {
    name: "broken",
    description: "Fails: its second node cannot connect to another server.",
    mode: "workflow",
    inputs: [query],
    nodes: [start, { ...failingRequest, id: "f", title: "Fetch" }, end({ result: ["f", "body"] })],
  },
  {
    name: "retry",
    description: "Tries a node three times, then fails.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      { ...failingRequest, id: "f", title: "Unsteady", retries: twoRetries },
      end({ result: ["f", "body"] }),
    ],
  },
  {
    name: "tolerant",
    description: "A node fails and its default value is used: partial success.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      { ...failingRequest, id: "f", title: "Fetch", fallback: "fallback" },
      end({ result: ["f", "body"] }),
    ],
  },
  {
    name: "flaky",
    description: "Tries a node three times, then uses its default value: partial success.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      { ...failingRequest, id: "f", title: "Unsteady", retries: twoRetries, fallback: "fallback" },
      end({ result: ["f", "body"] }),
    ],
  },
  {
    name: "loop",
    description: "Counts to five in a loop.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      {
        type: "loop",
        id: "l",
        title: "Loop",
        variable: "num",
        from: 1,
        until: 5,
        count: 10,
        inner: { type: "assigner", id: "v", title: "Variable Assigner" },
        takes: 0.1,
      },
      end({ num: ["l", "num"] }),
    ],
  },
  {
    name: "batch",
    description: "Makes a pair from each number of a list.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      { type: "code", id: "c", title: "Generate Array", outputs: { result: [1, 2, 3] } },
      {
        type: "iteration",
        id: "i",
        title: "Iteration",
        over: ["c", "result"],
        inner: { type: "code", id: "p", title: "Generate Pair" },
        takes: 0.1,
      },
      end({ output: ["i", "output"] }),
    ],
  },
  {
    name: "inputs",
    description: "Takes every kind of input.",
    mode: "workflow",
    inputs: [
      { control: "text-input", variable: "name", label: "Name", required: true, max: 20 },
      { control: "paragraph", variable: "text", label: "Text", max: 400 },
      { control: "select", variable: "kind", label: "Kind", required: true, options: ["a", "b"] },
      { control: "number", variable: "count", label: "Count" },
      { control: "checkbox", variable: "flag", label: "Flag" },
      {
        control: "file",
        variable: "doc",
        label: "Doc",
        methods: ["local_file", "remote_url"],
      },
      { control: "file-list", variable: "docs", label: "Docs", max: 3, methods: ["local_file"] },
    ],
    nodes: [start, end({ name: ["s", "name"], count: ["s", "count"] })],
  },
  {
    name: "chat",
    description: "Replies with a fixed text that quotes the message.",
    mode: "advanced-chat",
    inputs: [],
    nodes: [
      start,
      {
        type: "answer",
        id: "a",
        title: "Answer",
        parts: ["You said: ", ["sys", "query"], ". This is a fixed answer."],
      },
    ],
  },
  {
    name: "convo",
    description: "Keeps a variable per conversation.",
    mode: "advanced-chat",
    inputs: [],
    variables: [{ name: "mood", value: "calm", description: "how the user feels" }],
    nodes: [
      start,
      {
        type: "answer",
        id: "a",
        title: "Answer",
        parts: ["Mood is ", ["conversation", "mood"], "."],
      },
    ],
  },
  {
    name: "chat-review",
    description: "Replies, waits for human input, replies again.",
    mode: "advanced-chat",
    inputs: [],
    nodes: [
      start,
      { type: "answer", id: "a", title: "First", parts: ["Before the review. "] },
      reviewNode({
        content: "Please review: {{#sys.query#}}\n\n{{#$output.comment#}}",
        inputs: [{ output_variable_name: "comment", type: "paragraph", default: null }],
        actions: [approve, { id: "reject", title: "Reject", button_style: "ghost" }],
      }),
      {
        type: "answer",
        id: "b",
        title: "Second",
        parts: ["After the review: ", ["h", "comment"]],
      },
    ],
  },
];

/** Returns the application with that name. */
export const findApp = (name: string | undefined): AppDefinition | undefined =>
  applications.find((app) => app.name === name);

const limits = {
  image_file_size_limit: 10,
  video_file_size_limit: 100,
  audio_file_size_limit: 50,
  file_size_limit: 15,
  workflow_file_upload_limit: 10,
};

/** Response of `GET /info`. */
export const infoResponse = (app: AppDefinition) => ({
  name: app.name,
  description: app.description,
  tags: [],
  mode: app.mode,
  author_name: "sandbox",
});

/** Response of `GET /parameters`: the input form and the enabled features (server §16). */
export const parametersResponse = (app: AppDefinition) => ({
  opening_statement: "",
  suggested_questions: [],
  suggested_questions_after_answer: { enabled: false },
  speech_to_text: { enabled: false },
  text_to_speech: { enabled: false, language: "", voice: "" },
  retriever_resource: { enabled: true },
  annotation_reply: { enabled: false },
  more_like_this: { enabled: false },
  user_input_form: app.inputs.map((field) => ({ [field.control]: inputControl(field) })),
  sensitive_word_avoidance: { enabled: false },
  file_upload: {
    allowed_file_extensions: [".JPG", ".JPEG", ".PNG", ".GIF", ".WEBP", ".SVG"],
    allowed_file_types: ["image"],
    allowed_file_upload_methods: ["local_file", "remote_url"],
    enabled: false,
    fileUploadConfig: { ...limits, batch_count_limit: 5 },
    image: { enabled: false, number_limits: 3, transfer_methods: ["local_file", "remote_url"] },
    number_limits: 3,
  },
  system_parameters: limits,
});

function inputControl(field: AppInputField) {
  const common = {
    label: field.label,
    options: field.options ?? [],
    required: field.required ?? false,
    type: field.control,
    variable: field.variable,
  };
  switch (field.control) {
    case "text-input":
    case "paragraph":
      return { ...common, max_length: field.max ?? null };
    case "file":
    case "file-list":
      return {
        ...common,
        ...(field.max === undefined ? {} : { max_length: field.max }),
        allowed_file_types: ["document"],
        allowed_file_extensions: [],
        allowed_file_upload_methods: field.methods ?? [],
      };
    default:
      return common;
  }
}

/** Response of `GET /site`. */
export const siteResponse = (app: AppDefinition, version: string) => ({
  title: app.name,
  chat_color_theme: null,
  chat_color_theme_inverted: false,
  icon_type: "emoji",
  icon: "🤖",
  icon_background: "#FFEAD5",
  description: null,
  copyright: null,
  privacy_policy: null,
  ...(atLeast(version, "1.15.0") && { input_placeholder: null }),
  custom_disclaimer: "",
  default_language: "en-US",
  show_workflow_steps: true,
  use_icon_as_answer_icon: false,
  icon_url: null,
});
