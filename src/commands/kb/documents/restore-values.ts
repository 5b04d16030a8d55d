import { listMetadataFields, setDocumentMetadata } from "../../../operations/metadata.ts";
import type { Context } from "../../task/command-spec.ts";
import { syncFields } from "./marks.ts";
import type { DocumentState } from "./state.ts";

type Valued = Pick<DocumentState, "id" | "metadata" | "stored">;

/**
 * Sets exactly the values that documents had before, where they differ; the mark of the stored file becomes that
 * of the new one. Values without a field are skipped.
 */
export async function restoreValues(
  dataset_id: string,
  pairs: readonly (readonly [before: Valued, current: Valued])[],
  context: Context,
): Promise<void> {
  const fields = new Map(
    (await context.api.call(listMetadataFields, { dataset_id })).map(({ id, name }) => [name, id]),
  );
  for (const [before, current] of pairs) {
    const isOwn = before.metadata[syncFields.stored] === before.stored && current.stored !== null;
    const values = {
      ...before.metadata,
      ...(isOwn && { [syncFields.stored]: current.stored ?? "" }),
    };
    if (sameValues(values, current.metadata)) continue;
    const metadata_list = Object.entries(values).flatMap(([name, value]) => {
      const id = fields.get(name);
      return id === undefined ? [] : [{ id, name, value }];
    });
    const operation_data = [{ document_id: current.id, metadata_list, partial_update: false }];
    await context.api.call(setDocumentMetadata, { dataset_id, operation_data });
  }
}

const sameValues = (a: object, b: object): boolean =>
  JSON.stringify(Object.entries(a).toSorted()) === JSON.stringify(Object.entries(b).toSorted());
