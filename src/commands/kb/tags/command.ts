import { body, noContent } from "../../../operations/operation.ts";
import { required } from "../../../operations/shared.ts";
import { unbindTags } from "../../../operations/tags.ts";
import { task, itemOutcomes } from "../../task/command-spec.ts";

export const tagUnbindParams = {
  target_id: body.ref("kb", "Knowledge base name or ID", { required }),
  tag_ids: body.ref("tag", "Tag name or ID", {
    many: true,
    required,
    placeholder: "tag",
    mustExist: true,
  }),
};

export const tagUnbind = task({
  command: "kb tag unbind <kb> <tag...>",
  tool: {},
  summary: "Unbind tags from a knowledge base",
  params: tagUnbindParams,
  returns: noContent,
  output: ({ tag_ids }) => (tag_ids.length > 1 ? itemOutcomes : undefined),
  wraps: unbindTags,
  effect: "writes",
  examples: ["kb tag unbind Handbook published", "kb tag unbind Handbook draft published"],
});
