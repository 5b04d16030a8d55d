/** Groups of commands on the first help page, by first word; the rare ones come last. */
export const commandGroups: Readonly<
  Record<string, readonly (readonly [title: string, words: readonly string[]])[]>
> = {
  kb: [
    ["Knowledge bases", ["list", "create", "show", "update", "delete", "open"]],
    ["Documents", ["doc", "cat", "chunk", "metadata", "tag"]],
    ["Search quality", ["search", "questions", "eval", "tune", "lint"]],
    [
      "Moving and syncing",
      ["sync", "status", "export", "import", "copy", "verify", "pull", "plan", "apply"],
    ],
    ["Backup and repair", ["backup", "undo", "check", "heal"]],
    ["Settings and diagnosis", ["login", "profile", "config", "doctor", "completion"]],
    ["Other", ["mcp", "sandbox", "api", "skill", "model", "pipeline", "source"]],
  ],
  wf: [
    ["Running", ["run", "retry", "stop", "wait", "form", "file"]],
    ["Following", ["events", "show", "open", "timeline"]],
    ["Logs and statistics", ["logs", "stats", "cost", "top"]],
    ["Tests and recordings", ["test", "replay", "diff"]],
    ["Applications and chat", ["app", "chat", "conversation", "message", "annotation", "text"]],
    ["Settings and diagnosis", ["login", "profile", "config", "doctor", "completion"]],
    ["Other", ["mcp", "sandbox", "api", "skill", "user", "feedback", "audio"]],
  ],
};

/** Words for few people: the first help page gives them one row. */
export const rareWords: readonly string[] = ["pipeline", "source", "audio"];

/** What the commands of a group are for, by the words after the program. */
export const groupPurposes: Readonly<Record<string, string>> = {
  doc: "Manage the documents of a knowledge base",
  chunk: "Manage the chunks of a document",
  "chunk child": "Manage the child chunks of a chunk",
  metadata: "Manage metadata fields and their values",
  "metadata built-in": "Turn built-in metadata fields on or off",
  tag: "Manage tags and bind them to knowledge bases",
  backup: "Back up knowledge bases and restore them",
  model: "List the models of the workspace",
  pipeline: "Run the knowledge pipeline of a knowledge base",
  form: "Submit the forms that paused runs are waiting for",
  file: "Upload and download files of an application",
  app: "Show the application of the key",
  conversation: "Manage conversations and their variables",
  message: "Rate messages and list suggested questions",
  annotation: "Manage annotations and replies from them",
  "annotation reply": "Turn replies from annotations on or off",
  test: "Test the answers of applications",
  text: "Generate text with a text generation application",
  user: "Show end users",
  feedback: "List the feedback of end users",
  audio: "Convert speech to text and text to speech",
  profile: "Manage stored profiles",
  config: "Explain where settings come from",
  completion: "Print completion scripts for shells",
  source: "Check programs that are sources for kb sync",
  skill: "Install a skill for coding agents",
};

/** Topics of `help <topic>`, in the order of the list; their texts are loaded on demand. */
export const topicNames = [
  "exit-codes",
  "environment",
  "output",
  "formats",
  "flags",
  "conditions",
  "times",
  "follow",
  "recordings",
  "verdicts",
  "scripting",
  "auth",
  "names",
] as const;

export type TopicName = (typeof topicNames)[number];
