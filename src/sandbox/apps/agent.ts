import { spaced } from "../protocol/response.ts";
import { addUsage } from "../models/tokens.ts";
import type { RunStore, StoredThought } from "./records/runs-store.ts";
import { messageEvent } from "./records/shapes.ts";
import type { RunEvent } from "../protocol/fill.ts";
import { sendPieces, type Writing, promptOf } from "./answer.ts";
import type { ModelConfig, Tool } from "./definitions/app-features.ts";
import { wholeReply } from "../models/language-model.ts";

type AgentMode = NonNullable<ModelConfig["agent_mode"]>;

/** Writes the answer of an agent, in the way of its strategy. Throws ModelError. */
export const writeAsAgent = (
  records: RunStore,
  writing: Writing,
  { strategy, tools }: AgentMode,
): AsyncGenerator<RunEvent> =>
  strategy === "react" ? reason(records, writing) : callTools(records, writing, tools);

/** Calls tools until the model answers without one: a round for each call (server §18). */
async function* callTools(
  records: RunStore,
  writing: Writing,
  tools: readonly Tool[],
): AsyncGenerator<RunEvent> {
  const { turn, answer, model, signal } = writing;
  let observation: string | undefined;
  for (;;) {
    const thought = newThought(records, writing);
    const prompt = {
      ...promptOf(turn, []),
      tools: tools.map(({ tool_name }) => tool_name),
      ...(observation !== undefined && { observation }),
    };
    const reply = yield* sendPieces(writing, "agent_message", model.stream(prompt, signal), () =>
      thoughtEvent(thought),
    );
    answer.usage = answer.usage ? addUsage(answer.usage, reply.usage) : reply.usage;
    const tool = tools.find(({ tool_name }) => tool_name === reply.tool);
    Object.assign(thought, { thought: reply.text }, tool && callOf(tool));
    yield thoughtEvent(thought);
    if (!tool) return;
    observation = tool.sandbox.output;
    thought.observation = spaced({ [tool.tool_name]: observation });
    yield thoughtEvent(thought);
    answer.text += "\n"; // never sent (server §18)
  }
}

const callOf = ({ tool_name, sandbox }: Tool) => ({
  tool: tool_name,
  tool_labels: { [tool_name]: sandbox.label },
  tool_input: spaced({ [tool_name]: {} }),
});

/** What the model says before its final answer, and how the server sends that: by character. */
const REASON = "I know enough.";
const REASON_PIECES = [" ", ...REASON, "\n", "\n", "", "", ""];

/** Answers at once as ReAct does; its calls of tools were not recorded. */
async function* reason(records: RunStore, writing: Writing): AsyncGenerator<RunEvent> {
  const { turn, answer, model, signal } = writing;
  const thought = newThought(records, writing);
  const { text, usage } = await wholeReply(model.stream(promptOf(turn, []), signal));
  yield thoughtEvent(thought);
  for (const piece of [...REASON_PIECES, text]) {
    yield messageEvent("agent_message", { message: turn.message, text: piece });
  }
  thought.thought = `${REASON}${text}`;
  thought.tool_input = spaced({ "Final Answer": text });
  answer.text = text;
  answer.usage = usage;
}

/** Begins a round. */
function newThought(records: RunStore, { answer: { thoughts } }: Writing): StoredThought {
  const thought: StoredThought = {
    id: records.newId(),
    position: thoughts.length + 1,
    thought: "",
    tool: "",
    tool_labels: {},
    tool_input: "",
    observation: "",
    created_at: records.now(),
  };
  thoughts.push(thought);
  return thought;
}

const thoughtEvent = (thought: StoredThought): RunEvent =>
  messageEvent("agent_thought", { thought });
