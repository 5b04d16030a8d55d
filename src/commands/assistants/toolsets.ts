import { didYouMean } from "../../lib/did-you-mean.ts";
import { usage } from "../../errors.ts";
import { own, stringifyJson } from "../../lib/json.ts";
import { structuredResult } from "./results.ts";
import { objectSchema, readingTool } from "./schema.ts";
import type { OfferedTool } from "./schema.ts";

/** The names of the tools in each set; those that no set has are in `admin`. */
export type ToolSets = Readonly<Record<string, RegExp>>;

/** What clients may choose in place of the tools themselves. */
const FIND = "find";
const CALL = "call_tool";

/**
 * Lists the tools of the chosen sets; all of them if none is chosen. With the set `find`, the tools of the others (or of
 * the first set) and two that find and call all the rest, whose descriptions no client has to read beforehand.
 */
export function toolList(tools: readonly OfferedTool[], sets: ToolSets, chosen: readonly string[]) {
  const named = chosen.filter((set) => set !== FIND);
  const wanted = named.length === 0 ? Object.keys(sets).slice(0, 1) : named;
  const setOf = ({ name }: OfferedTool) =>
    Object.keys(sets).find((each) => sets[each]?.test(name)) ?? "admin";
  const listed = [
    ...tools.filter((tool) => chosen.length === 0 || wanted.includes(setOf(tool))),
    ...(chosen.includes(FIND) ? [findTool(tools), callTool(tools)] : []),
  ];
  const has = (all: readonly OfferedTool[], name: string) => all.some((tool) => tool.name === name);
  return {
    /** The tools that clients see. */
    listed,
    /** How a client calls one of all tools: by itself, or by call_tool; undefined if it cannot. */
    callOf(name: string, values: Readonly<Record<string, unknown>>) {
      if (has(listed, name)) return `tool ${name} with ${stringifyJson(values)}`;
      if (!has(listed, CALL) || !has(tools, name)) return undefined;
      return `tool ${CALL} with ${stringifyJson({ name, arguments: values })}`;
    },
  };
}

const MOST_FOUND = 8;

const findTool = (tools: readonly OfferedTool[]): OfferedTool => ({
  name: "find_tools",
  title: "Find tools",
  description: `Find tools by words such as "create document", of ${tools.length}; call_tool calls them. Without a query, their names.`,
  inputSchema: objectSchema(
    { query: { type: "string", description: "Words of what it does" } },
    [],
  ),
  annotations: readingTool,
  async call({ query = "" }) {
    const words =
      String(query)
        .toLowerCase()
        .match(/\p{L}+/gu) ?? [];
    if (words.length === 0) return structuredResult({ names: tools.map(({ name }) => name) });
    const rate = ({ name, description }: OfferedTool) => {
      const summary = description.split("\n")[0]?.toLowerCase() ?? "";
      const hits = (text: string) => words.filter((word) => text.includes(word)).length;
      return 2 * hits(name) + hits(summary);
    };
    const found = tools.filter((tool) => rate(tool) > 0).sort((a, b) => rate(b) - rate(a));
    const items = found.slice(0, MOST_FOUND).map(({ name, description, inputSchema }) => ({
      name,
      description,
      inputSchema,
    }));
    return structuredResult({ items, total: found.length });
  },
});

const callTool = (tools: readonly OfferedTool[]): OfferedTool => ({
  name: CALL,
  title: "Call a tool",
  description: "Call a tool that find_tools has found, with arguments as its inputSchema says.",
  inputSchema: objectSchema(
    { name: { type: "string", minLength: 1 }, arguments: { type: "object" } },
    ["name"],
  ),
  // A client asks its user before a call as if it were the worst that it can be.
  annotations: {
    readOnlyHint: tools.every(({ annotations }) => annotations.readOnlyHint),
    destructiveHint: tools.some(({ annotations }) => annotations.destructiveHint),
    openWorldHint: tools.some(({ annotations }) => annotations.openWorldHint),
  },
  appOf: (values) => tools.find(({ name }) => name === values["name"])?.appOf?.(innerOf(values)),
  async call(values, request) {
    const name = String(values["name"]);
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) {
      const near = didYouMean(
        name,
        tools.map((each) => each.name),
      );
      throw usage(`unknown tool ${JSON.stringify(name)}`, near && `did you mean ${near}?`);
    }
    const inner = innerOf(values);
    const { checkArguments } = await import("./server.ts"); // it loads the protocol
    checkArguments(tool, inner);
    return tool.call(inner, request);
  },
});

const innerOf = (values: Readonly<Record<string, unknown>>) =>
  (own(values, "arguments") ?? {}) as Readonly<Record<string, unknown>>; // by the schema
