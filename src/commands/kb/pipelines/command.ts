import { getDocument, getIndexingStatus } from "../../../operations/documents.ts";
import { events, joinTexts, local, record, withNamePath } from "../../../operations/operation.ts";
import {
  runDatasourceNode,
  runPipeline,
  runPipelineBlocking,
} from "../../../operations/pipeline.ts";
import type { PublishedRun } from "../../../operations/pipeline.ts";
import { asEvents, task } from "../../task/command-spec.ts";

const publishedRun = withNamePath(
  "batch",
  record<PublishedRun>(
    "batch",
    ["documents", ({ documents }) => joinTexts(documents?.map(({ name }) => name))],
    "... dataset.name",
  ),
);

export const pipelineRunParams = {
  ...runPipeline.params,
  blocking: local.flag("Wait for one response instead of streaming"),
  no_wait: local.flag("Do not wait for indexing"),
};

export const pipelineRun = task({
  command: "kb pipeline run <kb>",
  tool: {},
  summary: "Run the pipeline of a knowledge base once",
  about:
    'A published pipeline returns the documents that it creates; the command waits until they are\nindexed and exits with their outcome. A draft creates none; its events are followed.\n\nThe data source list of an uploaded file: [{"reference": "FILE_ID", "related_id": "FILE_ID",\n"name": "guide.md", "size": 53, "type": "md", "extension": "md", "mime_type": "text/markdown",\n"url": "", "transfer_method": "local_file"}]',
  params: pipelineRunParams,
  returns: events,
  output(input, format) {
    if (input.is_published) return publishedRun;
    return asEvents(input, format) ? undefined : runPipelineBlocking.returns;
  },
  sends: [runPipelineBlocking, getIndexingStatus, getDocument],
  wraps: runPipeline,
  effect: "writes",
  exits: ["remote-failed", "deadline", "cut"],
  examples: [
    "kb pipeline run Files --datasource-type local_file --datasource-info-list @files.json --start-node-id d --is-published",
    "kb pipeline run Website --datasource-type website_crawl --datasource-info-list @pages.json --start-node-id d --no-is-published --blocking",
  ],
});

export const pipelineNode = task({
  command: "kb pipeline run-node <kb> <node>",
  tool: {},
  summary: "Run one data source of a pipeline and show its events",
  params: runDatasourceNode.params,
  returns: events,
  wraps: runDatasourceNode,
  effect: "writes",
  exits: ["remote-failed", "cut"],
  examples: [
    `kb pipeline run-node Website d --datasource-type website_crawl --inputs '{"url":"https://example.com"}' --is-published`,
    `kb pipeline run-node Website d --datasource-type website_crawl --inputs '{"url":"https://example.com"}' --no-is-published -o jsonl`,
  ],
});
