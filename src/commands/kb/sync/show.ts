import { notFound, usage } from "../../../errors.ts";
import { decodeText } from "../../../lib/text.ts";
import type { Context } from "../../task/command-spec.ts";
import {
  contentFixes,
  openSource,
  pointerProblem,
  textProblem,
  uploadKind,
} from "../sources/index.ts";
import type { SourceObject } from "../sources/index.ts";
import { documentPath } from "./local-files.ts";
import type { PlanFlags } from "./plan.ts";

/** The text of a file as a sync sends it: a page as Markdown. Throws usage for a file that is uploaded. */
export async function shownText(
  input: PlanFlags & { readonly show: string },
  context: Context,
): Promise<string> {
  if (!context.options.dryRun) throw usage("--show requires --dry-run");
  const { directory, prefix, show, allow_private } = input;
  const from = await openSource(directory, context, { isPrivate: allow_private });
  try {
    const { entries } = await from.list(input);
    const object = entries.find(
      (each): each is SourceObject =>
        each.kind === "file" &&
        [each.path, documentPath(each.path, prefix)].includes(documentPath(show, undefined)),
    );
    if (!object) throw notFound(`${from.label} has no file ${show}`);
    if (uploadKind(object.path) !== "text")
      throw usage(`${show} is uploaded as it is`, "the server extracts its text");
    await from.prepare?.([object]);
    const bytes = (await from.get(object))?.bytes ?? new Uint8Array();
    const unfit = pointerProblem(bytes) ?? textProblem(bytes);
    if (unfit) throw usage(`${show}: ${unfit.problem}`, contentFixes[unfit.finding]);
    return decodeText(bytes) ?? "";
  } finally {
    await from.close?.();
  }
}
