import { randomBytes } from "node:crypto";
import { createRequestStateCodec } from "@modelcontextprotocol/server";
import { stringifyJson } from "../../lib/json.ts";
import { createCompletion, sendMessage, stopMessage } from "../../operations/chats.ts";
import { submitForm } from "../../operations/forms.ts";
import type { Input } from "../../operations/operation.ts";
import { runWorkflow, stopWorkflowRun } from "../../operations/workflows.ts";
import type { CallableCommand, CallScope } from "../task/command-runner.ts";
import type { Context, EngineTools } from "../task/command-spec.ts";
import { readOffered } from "./applications.ts";
import type { OfferedApplication } from "./applications.ts";
import { commandTool, isOffered, toolName } from "./command-tools.ts";
import type { QuestionState } from "./pauses.ts";
import { isPermitted, permissionsOf, requirePermission } from "./permissions.ts";
import { untrustedInstructions } from "./results.ts";
import type { ToolCallOf } from "./results.ts";
import { answerTool, applicationTool, appOf, appProperty, needsApp } from "./run-tools.ts";
import type { RunSetting } from "./run-tools.ts";
import type { OfferedTool } from "./schema.ts";
import { serveClients } from "./serve.ts";
import { toolList } from "./toolsets.ts";
import type { wfMcpParams } from "./wf-command.ts";

/** Requests that run applications, which is what the server is for. */
const runs: ReadonlySet<string> = new Set(
  [runWorkflow, sendMessage, createCompletion, submitForm, stopWorkflowRun, stopMessage].map(
    ({ id }) => id,
  ),
);

/** Serves the applications of the profile to a client until it leaves. */
export async function run(
  { allow = [], toolset = [], http }: Input<typeof wfMcpParams>,
  context: Context,
  engine: EngineTools,
): Promise<void> {
  const runner = engine.commands();
  const { readOnly } = await runner.settings();
  if (readOnly) await context.notice("the settings are read-only, so no application can be run");
  const permissions = permissionsOf(allow, readOnly);
  const permit: CallScope["permit"] = (row) => {
    if (!runs.has(row.id)) requirePermission(row, permissions); // a read-only profile blocks runs itself
  };
  const applications = await readOffered(runner, permit, context);
  const codec = createRequestStateCodec<QuestionState>({ key: randomBytes(32) });
  const setting: RunSetting = {
    async within(app, { signal, progress }, work) {
      const { context: inner, close } = runner.open({ app, signal, progress, permit });
      try {
        return await work(inner);
      } finally {
        await close();
      }
    },
    mint: (state) => codec.mint(state),
  };
  const runTool = (each: OfferedApplication) => applicationTool(each, setting);
  const commands = (await runner.list()).filter(
    (command) =>
      isOffered(command) &&
      isForOneOf(applications, command) &&
      (isRunControl(command) ? !readOnly : isPermitted(command, permissions)),
  );
  const toolCall: ToolCallOf = async (words, app) => {
    const call = await runner.parse(words);
    const name = call && toolName(call.command);
    const named = { ...(needsApp(applications) && { app }) };
    // The tool follows the run, too, so it needs its ID.
    if (name === "form_submit" && tools.listed.some((tool) => tool.name === "answer")) {
      const { token: form_token, action } = call?.values ?? {};
      return `tool answer with the run_id and ${stringifyJson({ ...named, form_token, action })}`;
    }
    // Events show what a paused run waits for.
    if (name === "events") return tools.callOf("form_list", named);
    return name && tools.callOf(name, { ...named, ...call?.values });
  };
  const commandSetting = {
    runner,
    permit,
    toolCall,
    prepare: (values: Readonly<Record<string, unknown>>) => ({
      values,
      app: appOf(values, applications),
    }),
    properties: appProperty(applications),
    required: needsApp(applications) ? ["app"] : [],
  };
  const tools = toolList(
    [
      ...(readOnly ? [] : [...applications.map(runTool), answerTool(applications, setting)]),
      ...commands.map((command) => commandTool(command, commandSetting)),
    ],
    sets,
    toolset,
  );
  const offer = {
    title: "Applications",
    instructions: instructions(applications, tools.listed),
    tools: tools.listed,
    prompts: [],
    complete: () => Promise.resolve([]),
  };
  const verifyState: typeof codec.verify = (state, request) => codec.verify(state, request);
  const server = { program: "wf", offer, host: context.host, toolCall, verifyState };
  await serveClients(server, http, context);
}

const sets = {
  run: /^(run_.*|answer|wait|show|stop|text_stop|form_(list|show))$/,
  logs: /^(logs|stats|conversation_(list|messages|variables)|feedback_list|message_suggested)$/,
};

type Kind = OfferedApplication["kind"];

/** The routes that only these kinds of applications have (server §15.1, §16). */
const routesOfKinds: readonly (readonly [route: RegExp, kinds: readonly Kind[]])[] = [
  [/ \/(conversations|chat-messages|messages$|messages\/[^/]+\/suggested)/, ["chat"]],
  [/ \/(messages\/[^/]+\/feedbacks|app\/feedbacks)/, ["chat", "completion"]],
  [/ \/completion-messages/, ["completion"]],
];

/** Can the requests of a command be sent for one of the applications? */
const isForOneOf = (applications: readonly OfferedApplication[], { sends }: CallableCommand) =>
  routesOfKinds.every(
    ([route, kinds]) =>
      !sends.some((row) => route.test(row.route)) ||
      applications.some(({ kind }) => kinds.includes(kind)),
  );

/** Stopping a run belongs to starting it. */
const isRunControl = ({ words }: CallableCommand): boolean => words.join(" ") === "wf stop";

function instructions(
  applications: readonly OfferedApplication[],
  listed: readonly OfferedTool[],
): string {
  const offered = applications.filter(({ tool }) => listed.some(({ name }) => name === tool));
  if (offered.length === 0) return untrustedInstructions;
  return [
    `Run applications: ${offered.map(({ tool }) => tool).join(", ")}. A run that is paused returns what`,
    "it asks for; ask your user, then use the tool answer. A run continues on its server if a call is",
    "cancelled; the tool stop ends it.",
    untrustedInstructions,
  ].join(" ");
}
