/** What `help <topic>` knows, in the order in which it is listed; the texts load when one is read. */
export const topicNames = [
  "exit-codes",
  "environment",
  "output",
  "follow",
  "recordings",
  "expect",
  "scripting",
  "auth",
  "names",
] as const;
