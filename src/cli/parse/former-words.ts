/** Commands under the names of earlier versions: they work, and nothing lists them. */
export const formerWords: readonly {
  readonly words: readonly string[];
  /** The name of today. */
  readonly current: string;
}[] = [
  { words: ["kb", "profile", "add"], current: "kb login" },
  { words: ["wf", "profile", "add"], current: "wf login" },
  { words: ["wf", "completion", "create"], current: "wf text create" },
  { words: ["wf", "completion", "stop"], current: "wf text stop" },
];
