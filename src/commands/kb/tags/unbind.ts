import { unbindTags } from "../../../operations/tags.ts";
import { forEachItem } from "../../batch/index.ts";
import type { Context, ItemOutcome } from "../../task/command-spec.ts";
import type { Input } from "../../../operations/operation.ts";
import type { tagUnbindParams } from "./command.ts";

/** Unbinds tags, one request each, with both names of the field: servers before 1.14.1 know the old one (server §19). */
export async function* run(
  { target_id, tag_ids }: Input<typeof tagUnbindParams>,
  context: Context,
): AsyncGenerator<ItemOutcome> {
  const unbind = async (tag_id: string) => {
    await context.api.call(unbindTags, { tag_ids: [tag_id], tag_id, target_id });
    return tag_id;
  };
  const [only, ...others] = tag_ids;
  if (only !== undefined && others.length === 0) await unbind(only);
  else
    yield* forEachItem(
      "tag",
      tag_ids.map((id) => ({ name: context.enteredName(id), act: () => unbind(id) })),
      context,
    );
}
