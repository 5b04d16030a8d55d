/** Groups of commands on the first help page, by first word; the rare ones come last. */
export const commandGroups: Readonly<
  Record<string, readonly (readonly [title: string, words: readonly string[]])[]>
> = {
  kb: [
    ["Knowledge bases", ["list", "create", "show", "update", "delete", "open"]],
    ["Documents", ["doc", "chunk", "metadata", "tag"]],
    ["Search quality", ["search", "eval", "lint"]],
    ["Moving and syncing", ["sync", "export", "import", "copy", "verify", "pull", "plan", "apply"]],
    ["Settings and diagnosis", ["login", "profile", "config", "doctor", "completion"]],
    ["Other", ["sandbox", "api", "model", "pipeline"]],
  ],
  wf: [
    ["Running", ["run", "stop", "wait", "form", "file"]],
    ["Following", ["events", "show", "open", "timeline"]],
    ["Logs and statistics", ["logs", "stats", "top"]],
    ["Tests and recordings", ["replay", "diff"]],
    ["Applications and chat", ["app", "chat", "conversation", "message", "annotation", "text"]],
    ["Settings and diagnosis", ["login", "profile", "config", "doctor", "completion"]],
    ["Other", ["sandbox", "api", "user", "feedback", "audio"]],
  ],
};
