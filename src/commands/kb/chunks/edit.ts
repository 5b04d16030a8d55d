import { problemIn } from "../../../api/response.ts";
import { usage } from "../../../errors.ts";
import { commandLine } from "../../../lib/command-line.ts";
import { parseYaml, yamlText } from "../../../lib/formats/yaml.ts";
import { valueAt } from "../../../lib/json.ts";
import { getChunk } from "../../../operations/chunks.ts";
import type { Checked, Input } from "../../../operations/operation.ts";
import type { Context } from "../../task/command-spec.ts";
import { editText } from "../../task/edit-text.ts";
import type { Edited } from "../../task/edit-text.ts";
import { updateStored } from "../chunk-lists/index.ts";
import type { chunkEditParams } from "./command.ts";

const fields = { content: "text", "answer?": "text", "keywords?": ["text"] } as const;

/** Edits a chunk as YAML, from which every text is read back exactly. */
export async function* run(
  { from, ...place }: Input<typeof chunkEditParams>,
  context: Context,
): AsyncGenerator<unknown> {
  const args = [place.dataset_id, place.document_id, place.segment_id];
  const edited: Edited<unknown> = {
    line: ["kb chunk edit", args, from],
    instead: commandLine("kb chunk update", args, { content: "TEXT" }),
    name: "chunk.yaml",
    async read() {
      const { content, answer, keywords } = (await context.api.call(getChunk, place)).data;
      return yamlText({ content, ...(answer && { answer }), ...(keywords && { keywords }) });
    },
    async send(text) {
      const yaml = await parseYaml(text);
      const problem = "problem" in yaml ? yaml.problem : problemIn(fields, yaml.value, "");
      if (problem !== undefined) throw usage(`it is not a chunk: ${problem}`);
      const { content, answer, keywords } = (yaml as { value: Checked<typeof fields> }).value;
      if (content.trim() === "") throw usage("it is not a chunk: content is empty");
      const was = (await context.api.call(getChunk, place)).data.keywords;
      const chunk = { ...place, "segment.content": content, "segment.answer": answer ?? undefined };
      const given = { "segment.keywords": keywords ?? undefined };
      if (JSON.stringify(keywords) !== JSON.stringify(was))
        return updateStored({ ...chunk, ...given }, context);
      // Economy finds the keywords of the new content; others drop those set by hand (server §9.7).
      const response = await updateStored(chunk, context);
      const isDropped = keywords?.length && !valueAt(response, "data.keywords.length");
      return isDropped ? updateStored({ ...chunk, ...given }, context) : response;
    },
  };
  yield* editText(edited, context);
}
