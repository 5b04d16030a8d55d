/**
 * The applications of the sandbox, as data: what each asks for and which nodes it runs, in order.
 * `engine.ts` runs them; shapes and texts are those of the recorded server.
 */
import { atLeast } from "../http/router.ts";

/** Where a value comes from: the id of a node (or `sys`, `conversation`) and the name of its output. */
export type Selector = readonly [node: string, name: string];

/** One field of the form that a run is started with. */
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
  /** Largest number of characters, or of files. */
  readonly max?: number;
  readonly options?: readonly string[];
  /** How a file may come; uploaded or by address. */
  readonly methods?: readonly string[];
}

/** A field that a person fills in while the run waits. */
export interface AppFormInput {
  readonly output_variable_name: string;
  readonly type: "paragraph";
  readonly default: {
    readonly type: "constant";
    readonly selector: readonly string[];
    readonly value: string;
  } | null;
}

/** A button of that form. */
export interface AppFormAction {
  readonly id: string;
  readonly title: string;
  readonly button_style: "primary" | "default" | "accent" | "ghost";
}

interface Node {
  readonly id: string;
  readonly title: string;
}

/** Gives the inputs of the run. */
export type StartNode = Node & { readonly type: "start" };
/** Gives the outputs of the run, each from some node before. */
export type EndNode = Node & {
  readonly type: "end";
  readonly outputs: Readonly<Record<string, Selector>>;
};
/** Says something in a chatflow. */
export type AnswerNode = Node & {
  readonly type: "answer";
  /** Fixed text and variables, in the order they are said. */
  readonly parts: readonly (string | Selector)[];
};
/** Plays a program: always gives the same. */
export type CodeNode = Node & {
  readonly type: "code";
  readonly outputs: Readonly<Record<string, unknown>>;
};
/** Plays a request to another server; nothing is sent. */
export type RequestNode = Node & {
  readonly type: "http-request";
  readonly request: string;
  readonly body: string;
  /** How long the request takes: fixed, or an input of the run with a default. In seconds. */
  readonly takes?: { readonly input: Selector; readonly otherwise: number };
  /** The request fails with this text. */
  readonly error?: string;
  readonly retries?: { readonly times: number; readonly pause: number };
  /** Body that stands in for a failed request, so that the run goes on. */
  readonly fallback?: string;
};
/** Pauses the run until a person has filled in a form. */
export type HumanInputNode = Node & {
  readonly type: "human-input";
  readonly content: string;
  readonly inputs: readonly AppFormInput[];
  readonly actions: readonly AppFormAction[];
  /** Seconds until the form closes. */
  readonly expires: number;
};
/** Counts a variable up, one inner node a round, until it reaches `until` or the rounds are used up. */
export type LoopNode = Node & {
  readonly type: "loop";
  readonly variable: string;
  readonly from: number;
  readonly until: number;
  readonly count: number;
  readonly inner: Node & { readonly type: "assigner" };
  /** Seconds of a round. */
  readonly takes: number;
};
/** Runs one inner node for every number of a list and joins what comes out. */
export type IterationNode = Node & {
  readonly type: "iteration";
  readonly over: Selector;
  readonly inner: Node & { readonly type: "code" };
  /** Seconds of a round. */
  readonly takes: number;
};

/** Asks several people side by side; each branch goes on to its own end. */
export type ReviewsNode = Node & {
  readonly type: "reviews";
  readonly branches: readonly { readonly review: HumanInputNode; readonly end: EndNode }[];
};

/** Everything a run can come to. */
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

/** A value that a conversation keeps from message to message. */
export interface VariableDefinition {
  readonly name: string;
  readonly value: string;
  readonly description: string;
}

/** An application: how it is called, what it asks for and what it does. */
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

const refused: Pick<RequestNode, "type" | "request" | "body" | "error"> = {
  type: "http-request",
  request: "GET /none HTTP/1.1\r\nHost: 127.0.0.1:9\r\n\r\n",
  body: "",
  error: "[Errno 111] Connection refused",
};
const twoRetries = { times: 2, pause: 0.3 };

const review = (
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
    description: "Answers the query as it came.",
    mode: "workflow",
    inputs: [query],
    nodes: [start, end({ query: ["s", "query"] })],
  },
  {
    name: "review",
    description: "Waits for a person who approves or rejects the query.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      review({
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
    description: "Pauses until two people have reviewed, side by side.",
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
            ...review({
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
    description: "Takes 6 seconds, or as many as the input says.",
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
        takes: { input: ["s", "seconds"], otherwise: 6 },
      },
      end({ result: ["f", "body"] }),
    ],
  },
  {
    name: "broken",
    description: "Fails: its second node cannot reach another server.",
    mode: "workflow",
    inputs: [query],
    nodes: [start, { ...refused, id: "f", title: "Fetch" }, end({ result: ["f", "body"] })],
  },
  {
    name: "retry",
    description: "Tries a node three times, then fails.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      { ...refused, id: "f", title: "Unsteady", retries: twoRetries },
      end({ result: ["f", "body"] }),
    ],
  },
  {
    name: "tolerant",
    description: "A node fails and a default value stands in: partly successful.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      { ...refused, id: "f", title: "Fetch", fallback: "fallback" },
      end({ result: ["f", "body"] }),
    ],
  },
  {
    name: "flaky",
    description: "Tries a node three times, then takes a default value: partly successful.",
    mode: "workflow",
    inputs: [query],
    nodes: [
      start,
      { ...refused, id: "f", title: "Unsteady", retries: twoRetries, fallback: "fallback" },
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
    description: "Makes a pair of every number of a list.",
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
    description: "Answers with what was said.",
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
    description: "Keeps a variable for each conversation.",
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
    description: "Answers, waits for a person, answers again.",
    mode: "advanced-chat",
    inputs: [],
    nodes: [
      start,
      { type: "answer", id: "a", title: "First", parts: ["Before the review. "] },
      review({
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

/** The application of that name, or undefined. */
export const findApp = (name: string | undefined): AppDefinition | undefined =>
  applications.find((app) => app.name === name);

const limits = {
  image_file_size_limit: 10,
  video_file_size_limit: 100,
  audio_file_size_limit: 50,
  file_size_limit: 15,
  workflow_file_upload_limit: 10,
};

/** What `GET /info` answers. */
export const infoResponse = (app: AppDefinition) => ({
  name: app.name,
  description: app.description,
  tags: [],
  mode: app.mode,
  author_name: "sandbox",
});

/** What `GET /parameters` answers: the input form and what is switched on (server §16). */
export const parametersResponse = (app: AppDefinition) => ({
  opening_statement: "",
  suggested_questions: [],
  suggested_questions_after_answer: { enabled: false },
  speech_to_text: { enabled: false },
  text_to_speech: { enabled: false, language: "", voice: "" },
  retriever_resource: { enabled: true },
  annotation_reply: { enabled: false },
  more_like_this: { enabled: false },
  user_input_form: app.inputs.map((field) => ({ [field.control]: controlOf(field) })),
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

function controlOf(field: AppInputField) {
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

/** What `GET /site` answers. */
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
