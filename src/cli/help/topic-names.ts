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
  "scripting",
  "auth",
  "names",
] as const;

export type TopicName = (typeof topicNames)[number];
