import type { AnyOperation, Params } from "../../operations/operation.ts";
import type { Task, TaskCode, TaskSpec } from "./command-spec.ts";

/** A part of a program: its commands, and the words that they begin with after `kb` or `wf`. */
export interface Feature {
  readonly words: string;
  load(): Promise<readonly (AnyOperation | Task)[]>;
}

/** The code of each task that a module declares. */
type CodeOf<M> = {
  readonly [Name in keyof M as M[Name] extends TaskSpec<infer _> ? Name : never]: () => Promise<
    M[Name] extends TaskSpec<infer P extends Params> ? TaskCode<P> : never
  >;
};

/**
 * The tasks that a module declares, with the code of each. A start loads the declarations of one word,
 * and the code of one command: code takes the types of its parameters from the declaration, not the reverse.
 */
export const tasks = <M extends object>(
  words: string,
  declarations: () => Promise<M>,
  code: CodeOf<M>,
): Feature => ({
  words,
  async load() {
    const specs = (await declarations()) as Readonly<Record<string, TaskSpec>>;
    const loads = Object.entries(code) as [string, Task["load"]][];
    return loads.map(([name, load]) => ({ ...specs[name], load }) as Task);
  },
});

/** Rows of the table that are commands: a module that exports nothing else. */
export const rows = (words: string, load: () => Promise<object>): Feature => ({
  words,
  load: async () => Object.values(await load()) as AnyOperation[],
});

/** The commands of features, in the same order. */
export const loadAll = async (
  features: readonly Feature[],
): Promise<readonly (AnyOperation | Task)[]> =>
  (await Promise.all(features.map((feature) => feature.load()))).flat();
