import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** One recorded exchange with a real server. */
export interface Exchange {
  /** `errors.json: no key` */
  readonly name: string;
  readonly title: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: unknown;
    readonly body_text?: string;
  };
  readonly response: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>> | null;
    readonly body?: unknown;
    readonly body_text?: string;
    /** Seconds since the request, and the bytes that came. */
    readonly chunks?: readonly (readonly [number, string])[];
  };
}

const folder = join(import.meta.dirname, "recordings");

/** Every recorded exchange, in the order of the files. */
export const exchanges: readonly Exchange[] = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .sort()
  .flatMap((file) => {
    // The shape of the files is the recorder's own.
    const recorded = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
      exchanges: Exchange[];
    };
    return recorded.exchanges.map((exchange) => ({
      ...exchange,
      name: `${file}: ${exchange.title}`,
    }));
  });

/** The body of a recorded answer as text. */
export function bodyText({ response }: Exchange): string {
  if (response.chunks) return response.chunks.map(([, text]) => text).join("");
  if (response.body_text !== undefined) return response.body_text;
  return response.body === undefined ? "" : JSON.stringify(response.body);
}

/** The headers of a recorded answer, names in lower case. */
export const headersOf = ({ response }: Exchange): Record<string, string> =>
  Object.fromEntries(
    Object.entries(response.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
