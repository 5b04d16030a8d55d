import { CliError } from "../../../errors.ts";
import { valueAt } from "../../../lib/json.ts";
import { getAppInfo, getAppParameters } from "../../../operations/apps.ts";
import { asText } from "../../../operations/operation.ts";
import type { CommandRunner, CallScope } from "../../command-runner.ts";
import type { Context } from "../../command-spec.ts";
import { isChatMode } from "../application.ts";
import { appFields } from "../forms/index.ts";
import type { Field } from "../forms/index.ts";

/** An application that a server offers as a tool. */
export interface OfferedApplication {
  /** Its name in the profile; undefined for the key of the environment. */
  readonly app: string | undefined;
  /** Its name for people. */
  readonly name: string;
  readonly description: string;
  readonly kind: "workflow" | "chat" | "completion";
  readonly mode: string;
  readonly fields: readonly Field[];
  readonly tool: string;
}

/**
 * Reads the applications of the profile, or the one of the command line or the environment. Those that
 * cannot be read are named in a notice. Throws the first error if none can be read.
 */
export async function readOffered(
  runner: CommandRunner<Context>,
  permit: CallScope["permit"],
  context: Context,
): Promise<readonly OfferedApplication[]> {
  const scope = { signal: context.signal, permit, progress: () => {} };
  const read = (await namesOf(runner, context)).map(async (app) => {
    const { context: inner, close } = runner.open({ ...scope, app });
    try {
      return { found: await readApplication(app, inner) };
    } catch (error) {
      if (error instanceof CliError) return { failed: { app, error } };
      throw error;
    } finally {
      await close();
    }
  });
  const all = await Promise.all(read);
  const failed = all.flatMap((each) => each.failed ?? []);
  const found = all.flatMap((each) => each.found ?? []);
  if (found.length === 0 && failed[0]) throw failed[0].error;
  for (const { app, error } of failed)
    await context.notice(`application ${app ?? ""} is not offered: ${error.message}`);
  return withToolNames(found);
}

async function namesOf(
  runner: CommandRunner<Context>,
  { options, host }: Context,
): Promise<readonly (string | undefined)[]> {
  const { app, profile } = options.flags;
  if (app !== undefined) return [app];
  // The key of the environment belongs to one application, unless -p selects those of a profile.
  if (profile === undefined && host.env["KB_APP_KEY"]) return [undefined];
  const { apps } = await runner.settings();
  return apps.length === 0 ? [undefined] : apps;
}

async function readApplication(
  app: string | undefined,
  context: Context,
): Promise<Omit<OfferedApplication, "tool">> {
  const [info, { user_input_form }] = await Promise.all([
    context.call(getAppInfo, {}),
    context.call(getAppParameters, {}),
  ]);
  const mode = info.mode ?? "workflow";
  return {
    app,
    name: info.name || app || "application",
    description: oneLine(asText(valueAt(info, "description"))),
    kind: kindOf(mode),
    mode,
    fields: appFields(user_input_form ?? []),
  };
}

function kindOf(mode: string): OfferedApplication["kind"] {
  if (isChatMode(mode)) return "chat";
  return mode === "completion" ? "completion" : "workflow";
}

const MAX_DESCRIPTION = 300;

const oneLine = (text: string): string =>
  [...text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()].slice(0, MAX_DESCRIPTION).join("");

/** `run_support`; a number makes equal names different. */
function withToolNames(
  applications: readonly Omit<OfferedApplication, "tool">[],
): readonly OfferedApplication[] {
  const used = new Map<string, number>();
  return applications.map((application) => {
    const words = (application.app ?? application.name).toLowerCase().replace(/[^a-z\d]+/g, "_");
    const base = `run_${words.replace(/^_|_$/g, "").slice(0, 50) || "application"}`;
    const count = (used.get(base) ?? 0) + 1;
    used.set(base, count);
    return { ...application, tool: count === 1 ? base : `${base}_${count}` };
  });
}
