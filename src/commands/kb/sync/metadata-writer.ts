import type { ConcurrencyLimiter } from "../../../api/concurrency-limit.ts";
import { mapAll } from "../../../api/concurrent-map.ts";
import { ApiError } from "../../../errors.ts";
import {
  createMetadataField,
  listMetadataFields,
  setDocumentMetadata,
} from "../../../operations/metadata.ts";
import type { MetadataField } from "../../../operations/metadata.ts";
import { fieldValue, unfitValue } from "../documents/field-values.ts";
import type { FieldValues } from "../documents/field-values.ts";
import type { DocumentState } from "../snapshot/state.ts";
import type { RateLimitWaiter } from "./rate-limit.ts";
import type { Context } from "../../command-spec.ts";

/** Documents whose values go with one request. */
export const atOnce = 50;

/** Writes metadata values of documents. */
export interface Writer {
  /** Sets these values and keeps all others. */
  set(
    changes: readonly {
      readonly id: string;
      readonly before: FieldValues;
      readonly values: FieldValues;
    }[],
  ): Promise<void>;
}

/** A writer of values; fields that are missing are made when they are first needed. */
export async function metadataWriter(
  dataset_id: string,
  lanes: ConcurrencyLimiter,
  patient: RateLimitWaiter,
  context: Context,
): Promise<Writer> {
  let known = await byName(dataset_id, context);

  const ensure = async (name: string, type: "string" | "number") => {
    if (known.has(name)) return;
    try {
      await patient(() => context.call(createMetadataField, { dataset_id, name, type }));
    } catch (error) {
      // Another machine that syncs a part of the same directory may have made it meanwhile.
      const there = error instanceof ApiError && error.kind === "refused";
      if (!there || !(await byName(dataset_id, context)).has(name)) throw error;
    }
    known = await byName(dataset_id, context);
  };

  const one = ({ id, before, values }: Parameters<Writer["set"]>[0][number]) => ({
    document_id: id,
    // All values are sent: a server before 1.10.1 forgets those that are not (server §11).
    metadata_list: Object.entries({ ...before, ...values }).flatMap(([name, value]) => {
      const field = known.get(name);
      if (!field) return [];
      const fitting = fieldValue(field.type, value);
      // What was there before may be of another type, which only a write could change.
      if (fitting === undefined && Object.hasOwn(values, name)) throw unfitValue(id, field, value);
      return [{ id: field.id, name, value: fitting ?? value }];
    }),
    partial_update: true,
  });

  return {
    async set(changes) {
      for (const { values } of changes) {
        for (const [name, value] of Object.entries(values))
          await ensure(name, typeof value === "number" ? "number" : "string");
      }
      await mapAll(groupsOf(changes), lanes, (group) =>
        patient(() =>
          context.call(setDocumentMetadata, { dataset_id, operation_data: group.map(one) }),
        ),
      );
    },
  };
}

/** As many at a time as one request takes. */
function* groupsOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += atOnce) yield all.slice(at, at + atOnce);
}

const byName = async (
  dataset_id: string,
  context: Context,
): Promise<ReadonlyMap<string, MetadataField>> =>
  new Map(
    (await context.call(listMetadataFields, { dataset_id })).map((field) => [field.name, field]),
  );

/** Values of a document that is there; none of a new one. */
export const valuesBefore = (document: DocumentState | undefined): FieldValues =>
  document?.metadata ?? {};
