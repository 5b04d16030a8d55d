import { own, valueAt } from "../../../lib/json.ts";
import { getDocument, listDocuments } from "../../../operations/documents.ts";
import type { StoredProcessRule } from "../../../operations/documents.ts";
import { automaticProcessRule, defaultByForm } from "../../../operations/shared.ts";
import type { Context } from "../../task/command-spec.ts";

/**
 * The chunking rule to send for a document of a form: the given one, or the default one of a form that
 * needs another mode. Without it the server completes the document without chunks (server §9.8).
 */
export function ruleFor(doc_form: string | null, rule: unknown): unknown {
  const needed = own(defaultByForm, doc_form ?? "");
  return needed === undefined || valueAt(rule, "mode") === needed.mode ? rule : needed;
}

/** A stored rule in the form that requests accept; stored automatic rules have more (server §6.2). */
export function sendableRule(stored: Partial<StoredProcessRule> | null | undefined): unknown {
  if (!stored?.mode || stored.mode === "automatic" || !stored.rules) return automaticProcessRule;
  const { parent_mode, subchunk_segmentation, ...rest } = stored.rules;
  return {
    mode: stored.mode,
    rules: {
      ...rest,
      ...(parent_mode && { parent_mode }),
      ...(subchunk_segmentation && { subchunk_segmentation }),
    },
  };
}

/** Reads the chunking rule of a document, in the form that requests accept. */
export async function ruleOf(
  dataset_id: string,
  document_id: string,
  context: Context,
): Promise<unknown> {
  const input = { dataset_id, document_id, metadata: "without" } as const;
  const { document_process_rule } = await context.api.call(getDocument, input);
  return sendableRule(document_process_rule);
}

/**
 * Reads the last chunking rule of a knowledge base, which its newest document shows, in the form that requests
 * accept; the automatic one if it has no documents.
 */
export async function newestRule(dataset_id: string, context: Context): Promise<unknown> {
  const newest = context.api.rows(listDocuments, { dataset_id }, { limit: 1 });
  for await (const { id: document_id } of newest) {
    const input = { dataset_id, document_id, metadata: "without" } as const;
    const { dataset_process_rule, doc_form = null } = await context.api.call(getDocument, input);
    return ruleFor(doc_form, sendableRule(dataset_process_rule));
  }
  return automaticProcessRule;
}
