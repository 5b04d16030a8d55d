import { operations } from "../../src/operations/index.ts";
import { methodAndPath } from "../../src/operations/operation.ts";
import type { AnyOperation } from "../../src/operations/operation.ts";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { recordingsFolder } from "./paths.ts";
import type { Exchange as Recorded } from "./replay.ts";

/** One recorded exchange with a real server: `errors.json: no key`. */
export type Exchange = Recorded & Required<Pick<Recorded, "request">> & { readonly name: string };

const folder = recordingsFolder;

/**
 * The recorded files: those of the current version, then the directories of other versions. The
 * directory `applications` has the applications that were called.
 */
export const recordedFiles: readonly string[] = readdirSync(folder, {
  recursive: true,
  encoding: "utf8",
})
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".json") && !file.startsWith("applications/"))
  .sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1));

/** Every recorded exchange, in the order of the files. */
export const exchanges: readonly Exchange[] = recordedFiles.flatMap((file) => {
  // The format of the recorder.
  const recorded = JSON.parse(readFileSync(join(folder, file), "utf8")) as {
    exchanges: Exchange[];
  };
  return recorded.exchanges.map((exchange) => ({
    ...exchange,
    name: `${file}: ${exchange.title}`,
  }));
});

/** The body of a recorded response as text. */
export function bodyText({ response }: Exchange): string {
  if (response.chunks) return response.chunks.map(([, text]) => text).join("");
  if (response.body_text !== undefined) return response.body_text;
  return response.body === undefined ? "" : JSON.stringify(response.body);
}

/** The headers of a recorded response, names in lower case. */
export const headersOf = ({ response }: Exchange): Record<string, string> =>
  Object.fromEntries(
    Object.entries(response.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );

/** Exchanges that do not belong to an operation. */
const noOperation = new Set([
  "download.json: what the link of b.txt gives (59 bytes were stored)",
  "1.16/download.json: what the link of b.txt gives (59 bytes were stored)",
  "1.15/knowledge-more.json: search, old path with a hit",
]);

/** Whether the response is an event stream, whatever was requested. */
export const streamed = (exchange: Exchange): boolean =>
  (headersOf(exchange)["content-type"] ?? "").includes("event-stream");

/** The operation of an exchange; of those that share a route, the one that expects this kind of response. */
export function rowFor(exchange: Exchange): AnyOperation | undefined {
  const { request } = exchange;
  const bare = request.path.replace(/^\/v1/, "").replace(/\?.*$/, "");
  const streams = streamed(exchange);
  const fits = operations.filter((row) => {
    const [verb, template] = methodAndPath(row);
    return (
      verb === request.method && new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(bare)
    );
  });
  // Literal routes come before placeholders: /datasets/tags before /datasets/{dataset_id}.
  const literal = fits.filter((row) => methodAndPath(row)[1] === bare);
  const candidates = literal.length > 0 ? literal : fits;
  return candidates.find(({ returns }) => (returns.kind === "events") === streams) ?? candidates[0];
}

/** Successful exchanges of operations. */
export const answered = exchanges.filter(
  ({ name, request, response }) => request && response.status < 300 && !noOperation.has(name),
);
