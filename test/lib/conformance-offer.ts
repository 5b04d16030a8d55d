/** What the official conformance suite of the Model Context Protocol expects a server to offer. */
import { randomBytes } from "node:crypto";
import { createRequestStateCodec, inputRequired } from "@modelcontextprotocol/server";
import { CliError } from "../../src/errors.ts";
import type { Offer, OfferedTool } from "../../src/commands/assistants/schema.ts";

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const text = (words: string) => ({ type: "text" as const, text: words });
const image = { type: "image" as const, data: PIXEL, mimeType: "image/png" };
const resource = (uri: string) => ({
  type: "resource" as const,
  resource: { uri, mimeType: "text/plain", text: "This is an embedded resource content." },
});

function tool(
  name: string,
  content: Awaited<ReturnType<OfferedTool["call"]>> | OfferedTool["call"],
  properties: object = {},
): OfferedTool {
  return {
    name,
    title: name,
    description: `Test tool ${name}`,
    inputSchema: { type: "object", properties, additionalProperties: false } as never,
    annotations: { readOnlyHint: true },
    call: typeof content === "function" ? content : () => Promise.resolve(content),
  };
}

/** As in `wf mcp`: a client returns the state of a question with a signature. */
export const stateCodec = createRequestStateCodec<{ readonly round: number }>({
  key: randomBytes(32),
});

/** A tool that asks its user in so many rounds, and then returns a text. */
const asking = (name: string, rounds: number, key = "user_name"): OfferedTool =>
  tool(name, async (_, { reply, state }) => {
    const { round = 0 } = (state() ?? {}) as { readonly round?: number };
    const isAnswered = reply(key)?.accepted === true;
    const next = isAnswered ? round + 1 : round;
    if (next >= rounds) return { content: [text("Hello")] };
    const requestedSchema = {
      type: "object" as const,
      properties: { name: { type: "string" as const } },
    };
    return inputRequired({
      inputRequests: { [key]: inputRequired.elicit({ message: "What is it?", requestedSchema }) },
      requestState: await stateCodec.mint({ round: next }),
    });
  });

/** Test tools, prompts and resources of the suite, as far as the servers of kb and wf offer such things. */
export const conformanceOffer: Offer = {
  title: "Conformance",
  instructions: "For the conformance suite.",
  tools: [
    tool("test_simple_text", { content: [text("This is a simple text response for testing.")] }),
    tool("test_image_content", { content: [image] }),
    tool("test_audio_content", {
      content: [{ type: "audio", data: SILENCE, mimeType: "audio/wav" }],
    }),
    tool("test_embedded_resource", { content: [resource("test://embedded-resource")] }),
    tool("test_multiple_content_types", {
      content: [
        text("Multiple content types test:"),
        image,
        resource("test://mixed-content-resource"),
      ],
    }),
    tool("test_error_handling", () => {
      throw new CliError("failure", "This tool intentionally returns an error for testing");
    }),
    tool("test_tool_with_progress", (_, { progress }) => {
      for (const done of [0, 50, 100]) progress({ done, total: 100, unit: "steps" });
      return Promise.resolve({ content: [text("done")] });
    }),
    asking("test_input_required_result_elicitation", 1),
    asking("test_input_required_result_request_state", 1),
    asking("test_input_required_result_tampered_state", 1),
    asking("test_input_required_result_multi_round", 2),
  ],
  prompts: [
    {
      name: "test_simple_prompt",
      title: "Simple",
      description: "A prompt without arguments",
      arguments: [],
      text: () => "This is a simple prompt for testing.",
    },
    {
      name: "test_prompt_with_arguments",
      title: "With arguments",
      description: "A prompt with two arguments",
      arguments: [
        { name: "arg1", description: "First test argument", required: true },
        { name: "arg2", description: "Second test argument", required: true },
      ],
      text: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
    },
  ],
  resources: {
    templates: [
      {
        uriTemplate: "test://template/{id}/data",
        name: "Resource template",
        description: "Data by ID",
        mimeType: "application/json",
      },
    ],
    list: () =>
      Promise.resolve({
        resources: [
          { uri: "test://static-text", name: "Static text", mimeType: "text/plain" },
          { uri: "test://static-binary", name: "Static binary", mimeType: "image/png" },
        ],
      }),
    read: (uri) => {
      const [, id] = /^test:\/\/template\/(\w+)\/data$/.exec(uri) ?? [];
      if (uri === "test://static-text")
        return Promise.resolve({
          contents: [
            {
              uri,
              mimeType: "text/plain",
              text: "This is the content of the static text resource.",
            },
          ],
        });
      if (uri === "test://static-binary")
        return Promise.resolve({ contents: [{ uri, mimeType: "image/png", blob: PIXEL }] });
      if (id === undefined) throw new CliError("not-found", `resource ${uri} not found`);
      const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
      return Promise.resolve({ contents: [{ uri, mimeType: "application/json", text: data }] });
    },
  },
  complete: () => Promise.resolve(["paris", "park"]),
};
