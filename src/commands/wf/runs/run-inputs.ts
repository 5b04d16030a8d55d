import { isObject, tryParseJson } from "../../../lib/json.ts";
import { shortened } from "../../../lib/text.ts";
import type { WorkflowRun } from "../../../operations/workflows.ts";

type Values = Readonly<Record<string, unknown>>;

/** The inputs of a run: those of its application, and those that the server added (server §13). */
export interface RunInputs {
  readonly own: Values;
  /** Without `sys.` in their names. */
  readonly system: Values;
}

/** Reads the inputs in the record of a run; empty if it has none that can be read. */
export function inputsIn({ inputs }: WorkflowRun): RunInputs {
  const values: unknown = typeof inputs === "string" ? tryParseJson(inputs) : inputs;
  const entries = Object.entries(isObject(values) ? values : {});
  return {
    own: Object.fromEntries(entries.filter(([name]) => !name.startsWith(SYSTEM))),
    system: Object.fromEntries(
      entries.flatMap(([name, value]) =>
        name.startsWith(SYSTEM) ? [[name.slice(SYSTEM.length), value]] : [],
      ),
    ),
  };
}

/** How the names of inputs begin that the server added. */
const SYSTEM = "sys.";

/** Characters of an input where it is one of several things in a line. */
const MAX_INPUT = 40;

/** An input as one line shows it: `query=hello`. */
export const shownInput = ([name, value]: readonly [string, unknown]): string =>
  shortened(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`, MAX_INPUT);
