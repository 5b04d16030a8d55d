import type { RawHost } from "../../src/host/host.ts";

/** A response of the server. */
export interface Answered {
  /** Method and path with query. */
  readonly request: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A host whose response bodies are replaced by `give`. */
export function answering(host: RawHost, give: (answered: Answered) => Buffer): RawHost {
  return {
    ...host,
    async dispatcher(connection) {
      const agent = await host.dispatcher(connection);
      const request: typeof agent.request = async (options) => {
        const answer = await agent.request(options);
        const body = Buffer.from(await answer.body.arrayBuffer());
        const pick = (name: string) => String(answer.headers[name] ?? "");
        const given = give({
          request: `${options.method} ${options.path}`,
          status: answer.statusCode,
          headers: {
            "content-type": pick("content-type"),
            date: pick("date"),
            "x-version": pick("x-version"),
          },
          body,
        });
        async function* pieces() {
          yield given;
        }
        // The program reads the body only as an iterable.
        return { ...answer, body: pieces() as unknown as typeof answer.body };
      };
      return Object.assign(Object.create(agent) as typeof agent, { request });
    },
  };
}
