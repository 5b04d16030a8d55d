import type { Clock } from "../../protocol/handler.ts";
import { DATASOURCE_TYPES, type PipelineNodeOf } from "./definitions.ts";

/** ms that a crawler needs for a page. */
const PAGE_DELAY = 200;

/** An event of a data source; the last one is `datasource_completed` or `datasource_error`. */
type DatasourceEvent = Readonly<Record<string, unknown>> & { readonly event: string };

/** A request to run one data source. */
interface DatasourceRun {
  /** undefined if the pipeline has no such data source. */
  readonly node: PipelineNodeOf<"datasource"> | undefined;
  /** As sent: any text. */
  readonly datasource_type: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** Runs one data source: a crawler invents pages, and the others cannot be run (server §18). */
export async function* runDatasource(
  { node, datasource_type, inputs }: DatasourceRun,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<DatasourceEvent> {
  const url = String(inputs["url"] ?? "");
  const error = typeError(datasource_type) ?? nodeError(node, url);
  const total = node?.sandbox?.pages;
  if (error !== undefined || total === undefined) {
    yield { event: "datasource_error", error };
    return;
  }
  const start = clock.now().getTime();
  for (let completed = 0; completed < total; completed++) {
    yield { event: "datasource_processing", total, completed };
    await clock.sleep(PAGE_DELAY, signal);
  }
  const data = Array.from({ length: total }, (_, index) => pageOf(url, index + 1));
  const time_consuming = (clock.now().getTime() - start) / 1000;
  yield { event: "datasource_completed", data, total, completed: total, time_consuming };
}

/** The text for a type that no server has; undefined for others. */
export const typeError = (type: string): string | undefined =>
  (DATASOURCE_TYPES as readonly string[]).includes(type)
    ? undefined
    : `'${type}' is not a valid DatasourceProviderType`;

function nodeError(
  node: PipelineNodeOf<"datasource"> | undefined,
  url: string,
): string | undefined {
  if (!node) return "Datasource node data not found";
  if (!node.sandbox) return `Unsupported datasource provider: ${node.provider_type}`;
  return node.sandbox.errors[url];
}

const pageOf = (url: string, number: number) => ({
  source_url: `${url}/${number}`,
  content: `# Page ${number}\n\nText of page ${number} of ${url}.`,
  title: `Page ${number}`,
  description: "A page",
});
