import type { RawHost } from "../../src/host/host.ts";
import type { TestSandbox } from "./sandbox.ts";

/** A request that a killed process had under way. */
export type Rest = () => Promise<{ readonly body: { dump(): Promise<void> } }>;

let pid = 2 ** 30; // no system has it

/**
 * Returns what runs a command until one of its steps outside, such as `POST /v1/datasets` or
 * `remove …/export.json`, where it is killed: it does nothing outside any more. Resolves to the step, undone.
 */
export const killer =
  (server: Pick<TestSandbox, "cli">) =>
  (
    isLast: (step: string) => boolean,
    argv: readonly string[],
    folder: string,
  ): Promise<Rest | undefined> => {
    const never = new Promise<never>(() => {});
    let isDead = false;
    return new Promise((resolve) => {
      const mortal = <T extends object>(
        object: T,
        stepOf: (name: string, first: never) => string,
      ) =>
        new Proxy(object, {
          get(_, name) {
            const method = (object as Record<PropertyKey, unknown>)[name];
            if (typeof method !== "function") return method;
            return (...args: unknown[]) => {
              if (isDead) return never;
              const go = () => Reflect.apply(method, object, args) as unknown;
              isDead = isLast(stepOf(String(name), args[0] as never));
              if (!isDead) return go();
              resolve(go as Rest);
              return never;
            };
          },
        });
      type Request = { readonly method: string; readonly path: string };
      const around = (host: RawHost): RawHost => ({
        ...host,
        files: mortal(host.files, (name, path: string) => `${name} ${path}`),
        process: { pid: ++pid, isAlive: () => false },
        dispatcher: async (options) =>
          mortal(
            await host.dispatcher(options),
            (_, { method, path }: Request) => `${method} ${path}`,
          ),
      });
      void server.cli(argv, { folder, around }).then(() => resolve(undefined));
    });
  };

export const requests = /^(GET|POST|PATCH|DELETE) /;
export const nth = (number: number, pattern: RegExp) => {
  let count = 0;
  return (step: string) => pattern.test(step) && ++count === number;
};
