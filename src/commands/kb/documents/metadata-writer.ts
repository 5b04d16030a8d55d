import type { AdaptiveLimit } from "../../../api/adaptive-limit.ts";
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
import { slices } from "../../../lib/collect.ts";
import type { Context } from "../../task/command-spec.ts";
import { syncFields } from "./state.ts";
import type { DocumentState } from "./state.ts";
import { stringifyJson } from "../../../lib/json.ts";

/** Duration of a knowledge rate limit in ms (server §4). */
const rateLimitMs = 60_000;
/** The wait is in steps so that progress is shown. */
const stepMs = 10_000;

/** Sends a request, and sends it again after a rate limit if the user chose to wait. */
export type RateLimitWaiter = <T>(request: () => Promise<T>) => Promise<T>;

/** Returns a sender that waits for rate limits if `wait` is set: one wait for all concurrent requests. */
export function waitOnRateLimit(wait: boolean, context: Context): RateLimitWaiter {
  let waiting: Promise<void> | undefined;
  const waitOnce = async ({ message }: ApiError) => {
    await context.notice(`${message}; waiting 60s`);
    for (let ms = 0; ms < rateLimitMs; ms += stepMs) await context.pause(stepMs);
  };
  return async (request) => {
    for (;;) {
      await waiting;
      try {
        return await request();
      } catch (error) {
        const isTransient =
          error instanceof ApiError && error.kind === "limited" && error.info.retryable === true;
        if (!wait || !isTransient || context.host.signal.aborted) throw error;
        waiting ??= waitOnce(error).finally(() => (waiting = undefined));
      }
    }
  };
}

const METADATA_BATCH = 50;

/** New metadata values of one document. */
export interface MetadataChange {
  readonly id: string;
  /** The values that it has now. */
  readonly before: FieldValues;
  readonly values: FieldValues;
}

type FieldsByName = ReadonlyMap<string, MetadataField>;

export interface MetadataWriter {
  /** Sets these values and keeps all others; `total` is the number of documents of the whole run. */
  set(changes: readonly MetadataChange[], total?: number): Promise<void>;
}

/** Returns a writer of metadata values, which creates a missing field on its first use. */
export async function metadataWriter(
  dataset_id: string,
  limiter: AdaptiveLimit,
  waiter: RateLimitWaiter,
  context: Context,
): Promise<MetadataWriter> {
  /** Undefined after an attempt to create one, whose result only the server knows. */
  let fields: FieldsByName | undefined = await fieldsByName(dataset_id, context);
  const currentFields = async () => (fields ??= await fieldsByName(dataset_id, context));
  /** Why fields could not be created, by name. */
  const rejections = new Map<string, ApiError>();
  /** Documents that were written, some of them twice. */
  const written = new Set<string>();

  const ensureField = async (name: string, type: "string" | "number") => {
    if ((await currentFields()).has(name)) return;
    const rejection = rejections.get(name);
    if (rejection) throw rejection;
    fields = undefined;
    try {
      await waiter(() => context.api.call(createMetadataField, { dataset_id, name, type }));
    } catch (error) {
      if (!(error instanceof ApiError) || error.kind !== "refused") throw error;
      // Another machine that syncs a shard of the same directory may have created it.
      if ((await currentFields()).has(name)) return;
      rejections.set(name, error);
      throw error;
    }
  };

  return {
    async set(changes, total = changes.length) {
      for (const { values } of changes) {
        for (const [name, value] of Object.entries(values))
          await ensureField(name, typeof value === "string" ? "string" : "number");
      }
      const known = await currentFields();
      // A single request needs no place: a task that has one may be waiting for it.
      const places = changes.length > METADATA_BATCH ? limiter : 1;
      await mapAll(slices(changes, METADATA_BATCH), places, async (batch) => {
        const operation_data = batch.map((change) => operationFor(known, change));
        await waiter(() => context.api.call(setDocumentMetadata, { dataset_id, operation_data }));
        for (const { id } of batch) written.add(id);
        const step = { verb: "Writing metadata", done: written.size, total, unit: "documents" };
        if (changes.length > METADATA_BATCH) context.progress(step);
      });
    },
  };
}

/** The values of one document in a request. Throws usage for one that its field cannot hold. */
const operationFor = (known: FieldsByName, { id, before, values }: MetadataChange) => ({
  document_id: id,
  // All values are sent: a server before 1.10.1 drops those that are not (server §11).
  metadata_list: Object.entries({ ...before, ...values }).flatMap(([name, value]) => {
    const field = known.get(name);
    if (!field) return [];
    const stored = fieldValue(field.type, value);
    // An existing value may be of another type, which only a write could change.
    if (stored === undefined && Object.hasOwn(values, name))
      throw invalidFieldValue(id, field, value);
    return [{ id: field.id, name, value: stored ?? value }];
  }),
  partial_update: true,
});

async function fieldsByName(dataset_id: string, { api }: Context): Promise<FieldsByName> {
  const fields = await api.call(listMetadataFields, { dataset_id });
  return new Map(fields.map((field) => [field.name, field]));
}

type Valued = Pick<DocumentState, "id" | "metadata" | "stored">;

/** Sets exactly the values from before where they differ, with the mark of the new file; not those without a field. */
export async function restoreValues(
  dataset_id: string,
  pairs: readonly (readonly [before: Valued, current: Valued])[],
  context: Context,
): Promise<void> {
  const fields = await fieldsByName(dataset_id, context);
  for (const [before, current] of pairs) {
    const isOwn = before.metadata[syncFields.stored] === before.stored && current.stored !== null;
    const values = {
      ...before.metadata,
      ...(isOwn && { [syncFields.stored]: current.stored ?? "" }),
    };
    if (sameValues(values, current.metadata)) continue;
    const metadata_list = Object.entries(values).flatMap(([name, value]) => {
      const field = fields.get(name);
      return field ? [{ id: field.id, name, value }] : [];
    });
    const operation_data = [{ document_id: current.id, metadata_list, partial_update: false }];
    await context.api.call(setDocumentMetadata, { dataset_id, operation_data });
  }
}

const sameValues = (a: object, b: object): boolean =>
  stringifyJson(Object.entries(a).toSorted()) === stringifyJson(Object.entries(b).toSorted());
