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

/** Runs the commands that read knowledge bases, within the limits of a server. Throws CliError. */
export class Documents {
  readonly allowed: readonly AllowedBase[] | undefined;
  private readonly runner: CommandRunner<Context>;
  private readonly commands: readonly CallableCommand[];
  private readonly permit: CallScope["permit"];

  constructor(
    runner: CommandRunner<Context>,
    commands: readonly CallableCommand[],
    permit: CallScope["permit"],
    allowed: readonly AllowedBase[] | undefined,
  ) {
    this.runner = runner;
    this.commands = commands;
    this.permit = permit;
    this.allowed = allowed;
  }

  /** The values with the ID of an allowed knowledge base, so that no other name is looked up. */
  within<V extends Readonly<Record<string, unknown>>>(values: V): V {
    const { kb } = values;
    if (!this.allowed || typeof kb !== "string") return values;
    return { ...values, kb: `id:${allowedBase(kb, this.allowed).id}` };
  }

  /** The rows that a command lists. */
  async list(
    words: string,
    values: CommandValues,
    scope: Pick<CallScope, "signal" | "progress">,
    rows?: { readonly limit: number; readonly page?: number },
  ): Promise<Rows> {
    const result = await this.run(words, values, scope, rows);
    return {
      rows: result.values.flat().filter(isObject),
      total: result.total,
      notices: result.notices,
    };
  }

  /** The object that a command shows. */
  async show(
    words: string,
    values: CommandValues,
    scope: Pick<CallScope, "signal" | "progress">,
  ): Promise<Readonly<Record<string, unknown>>> {
    const [value] = (await this.run(words, values, scope)).values;
    return isObject(value) ? value : {};
  }

  private async run(
    words: string,
    values: CommandValues,
    { signal, progress }: Pick<CallScope, "signal" | "progress">,
    rows?: { readonly limit: number; readonly page?: number },
  ): Promise<CommandResult> {
    const command = this.commands.find((each) => each.words.slice(1).join(" ") === words);
    if (!command) throw new Error(`unknown command ${words}`);
    const scope = { signal, progress, permit: this.permit };
    const result = await this.runner.run({ command, values: this.within(values), rows }, scope);
    if (result.error) throw result.error;
    return result;
  }
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
