/** A text as YAML writes it: numbers and true are texts, too. */
export const textSchema = { type: ["string", "number", "boolean"] } as const;

const texts = { type: "array", items: textSchema } as const;

const mapping = (description: string, properties: Readonly<Record<string, object>>) => ({
  type: "object",
  description,
  properties,
  additionalProperties: false,
});

const eachNode = (description: string) => ({
  type: "object",
  description,
  additionalProperties: textSchema,
});

/** JSON Schema of the short forms in a file of expectations, without its name (`help conditions`). */
export const expectationsSchema = mapping("Short forms of common conditions.", {
  checks: { ...texts, description: "Conditions, such as: run succeeded within 20s" },
  required: { ...texts, description: "Nodes that must run." },
  forbidden: { ...texts, description: "Nodes that must not run." },
  order: {
    type: "array",
    items: { ...texts, minItems: 2 },
    description: "Lists of nodes, each of which must run in this order.",
  },
  within: mapping("Longest durations, such as 2m or 1m30s.", {
    run: textSchema,
    nodes: eachNode("Longest duration of each node."),
  }),
  tokens: mapping("Highest numbers of tokens.", {
    max: { ...textSchema, description: "Of the run." },
    nodes: eachNode("Of each node."),
  }),
  outputs: {
    type: "object",
    description: "What each output must be, by path, such as items.0.name",
    additionalProperties: mapping("What the output must be.", {
      equals: { description: "The value." },
      contains: { ...textSchema, description: "A part of the text." },
      matches: { ...textSchema, description: "A regular expression, such as /ticket \\d+/i" },
      exists: { type: "boolean", description: "Whether there is one." },
    }),
  },
});
