import type { ConcurrencyLimiter } from "../../../api/concurrent-map.ts";
import { mapAll } from "../../../api/concurrent-map.ts";
import { ApiError } from "../../../errors.ts";
import {
  createMetadataField,
  listMetadataFields,
  setDocumentMetadata,
} from "../../../operations/metadata.ts";
import type { MetadataField } from "../../../operations/metadata.ts";
import { fieldValue, invalidFieldValue } from "./field-values.ts";
import type { FieldValues } from "./field-values.ts";
import type { RateLimitWaiter } from "./rate-limit.ts";
import type { Context } from "../../command-spec.ts";

/** Number of documents whose values one request sets. */
export const METADATA_BATCH = 50;

/** New metadata values of one document. */
export interface MetadataChange {
  readonly id: string;
  /** The values that it has now. */
  readonly before: FieldValues;
  readonly values: FieldValues;
}

export interface MetadataWriter {
  /** Sets these values and keeps all others. */
  set(changes: readonly MetadataChange[]): Promise<void>;
}

/** Returns a writer of metadata values, which creates a missing field on its first use. */
export async function metadataWriter(
  dataset_id: string,
  limiter: ConcurrencyLimiter,
  waiter: RateLimitWaiter,
  context: Context,
): Promise<MetadataWriter> {
  let fields = await fieldsByName(dataset_id, context);

  const ensureField = async (name: string, type: "string" | "number") => {
    if (fields.has(name)) return;
    try {
      await waiter(() => context.call(createMetadataField, { dataset_id, name, type }));
    } catch (error) {
      // Another machine that syncs a shard of the same directory may have created it.
      const mayExist = error instanceof ApiError && error.kind === "refused";
      if (!mayExist || !(await fieldsByName(dataset_id, context)).has(name)) throw error;
    }
    fields = await fieldsByName(dataset_id, context);
  };

  const operationFor = ({ id, before, values }: MetadataChange) => ({
    document_id: id,
    // All values are sent: a server before 1.10.1 drops those that are not (server §11).
    metadata_list: Object.entries({ ...before, ...values }).flatMap(([name, value]) => {
      const field = fields.get(name);
      if (!field) return [];
      const stored = fieldValue(field.type, value);
      // An existing value may be of another type, which only a write could change.
      if (stored === undefined && Object.hasOwn(values, name))
        throw invalidFieldValue(id, field, value);
      return [{ id: field.id, name, value: stored ?? value }];
    }),
    partial_update: true,
  });

  return {
    async set(changes) {
      for (const { values } of changes) {
        for (const [name, value] of Object.entries(values))
          await ensureField(name, typeof value === "number" ? "number" : "string");
      }
      let done = 0;
      await mapAll(batchesOf(changes), limiter, async (batch) => {
        const operation_data = batch.map(operationFor);
        await waiter(() => context.call(setDocumentMetadata, { dataset_id, operation_data }));
        done += batch.length;
        const total = changes.length;
        if (total > METADATA_BATCH)
          context.progress({ verb: "Writing metadata", done, total, unit: "documents" });
      });
    },
  };
}

function* batchesOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += METADATA_BATCH) yield all.slice(at, at + METADATA_BATCH);
}

const fieldsByName = async (
  dataset_id: string,
  context: Context,
): Promise<ReadonlyMap<string, MetadataField>> =>
  new Map(
    (await context.call(listMetadataFields, { dataset_id })).map((field) => [field.name, field]),
  );
