import { isObject, valueAt } from "../../../lib/json.ts";
import { asText } from "../../../operations/operation.ts";
import type {
  CallableCommand,
  CallScope,
  CommandResult,
  CommandRunner,
} from "../../task/command-runner.ts";
import type { Context } from "../../task/command-spec.ts";
import { allowedBase } from "./limits.ts";
import type { AllowedBase } from "./limits.ts";

/** A chunk as a reader sees it. */
export interface ReadChunk {
  readonly id: string;
  readonly position: number | null;
  readonly text: string;
}

/** Rows of a page, and the number of all. */
interface Rows {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly total: number | undefined;
  readonly notices: readonly string[];
}

/** Values of a command; `kb` is the name or ID of a knowledge base. */
type CommandValues = Readonly<Record<string, unknown>> & { readonly kb?: string };

/** What a server can run, and on which knowledge bases. */
export interface DocumentSetting {
  readonly runner: CommandRunner<Context>;
  readonly commands: readonly CallableCommand[];
  readonly permit: CallScope["permit"];
  /** Undefined for all. */
  readonly allowed: readonly AllowedBase[] | undefined;
}

export type Documents = ReturnType<typeof documentsOf>;

/** Runs the commands that read knowledge bases, within the limits of a server. They throw CliError. */
export function documentsOf({ runner, commands, permit, allowed }: DocumentSetting) {
  /** The values with the ID of an allowed knowledge base, so that no other name is looked up. */
  const within = <V extends Readonly<Record<string, unknown>>>(values: V): V => {
    const { kb } = values;
    if (!allowed || typeof kb !== "string") return values;
    return { ...values, kb: `id:${allowedBase(kb, allowed).id}` };
  };
  const run = async (
    words: string,
    values: CommandValues,
    { signal, progress }: Pick<CallScope, "signal" | "progress">,
    rows?: { readonly limit: number; readonly page?: number },
  ): Promise<CommandResult> => {
    const command = commands.find((each) => each.words.slice(1).join(" ") === words);
    if (!command) throw new Error(`unknown command ${words}`);
    const call = { command, values: within(values), rows };
    const result = await runner.run(call, { signal, progress, permit });
    if (result.error) throw result.error;
    return result;
  };
  return {
    allowed,
    within,
    /** The rows that a command lists. */
    async list(...call: Parameters<typeof run>): Promise<Rows> {
      const { values, total, notices } = await run(...call);
      return { rows: values.flat().filter(isObject), total, notices };
    },
    /** The object that a command shows. */
    async show(...call: Parameters<typeof run>): Promise<Readonly<Record<string, unknown>>> {
      const [value] = (await run(...call)).values;
      return isObject(value) ? value : {};
    },
  };
}

/** A chunk of the server; a question with its answer is one text. */
export const readChunk = (chunk: unknown): ReadChunk => ({
  id: asText(valueAt(chunk, "id")),
  position: numberOrNull(valueAt(chunk, "position")),
  text: [valueAt(chunk, "content"), valueAt(chunk, "answer")]
    .map(asText)
    .filter(Boolean)
    .join("\n"),
});

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
