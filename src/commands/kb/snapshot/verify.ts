import { CliError } from "../../../errors.ts";
import { contentIn, readManifest, sha256 } from "./bundle.ts";
import { diffKb, notCarried } from "./diff.ts";
import type { ComparedDocument, KbDifference, Side } from "./diff.ts";
import { readContents } from "./contents.ts";
import { stateOf } from "./state.ts";
import type { Context } from "../../command-spec.ts";

/** Input of `kb verify`. */
export interface VerifyInput {
  readonly a: string;
  readonly b: string;
  readonly to_profile?: string | undefined;
}

/**
 * Compares two knowledge bases, or exports of them, down to the bytes of every document. Yields the
 * differences; throws gate when there are any.
 */
export async function* run(input: VerifyInput, context: Context): AsyncGenerator<KbDifference> {
  const there = input.to_profile === undefined ? context : context.withProfile(input.to_profile);
  const a = await sideOf(input.a, context);
  const b = await sideOf(input.b, there);
  let count = 0;
  for (const difference of diffKb(a, b)) {
    count++;
    yield difference;
  }
  const without = a.documents.filter((document) => document.sha256 === null).length;
  const blind = without > 0 ? `; documents without content: ${without}` : "";
  const checked = `${a.documents.length} and ${b.documents.length} documents, their content and metadata, ${a.fields.length} fields, ${a.tags.length} tags and the settings were compared${blind}; not compared: ${notCarried(a.settings)}`;
  if (count > 0) {
    throw new CliError("gate", `${count} differences: ${checked}`, {
      isResult: true,
      details: { differences: count },
    });
  }
  await context.notice(`no difference: ${checked}`);
}

/** What a knowledge base or the directory of an export holds; `name:` and `id:` are never a path. */
async function sideOf(text: string, context: Context): Promise<Side> {
  const { files } = context.host;
  const isName = /^(name|id):/.test(text);
  const manifest = isName ? undefined : await readManifest(text, files);
  if (manifest) {
    const documents: ComparedDocument[] = [];
    for (const document of manifest.state.documents) {
      const bytes = document.file === null ? null : await contentIn(text, document.file, files);
      // What lies in the folder counts, not what the manifest says of it.
      documents.push({ ...document, sha256: bytes ? sha256(bytes) : null });
    }
    return { ...manifest.state, documents };
  }
  const noExport = new CliError("usage", `${text} holds no export`, {
    sideEffect: "none",
    hint: "kb export <kb> <dir> makes one; write name:<kb> for a knowledge base of that name",
  });
  if (!isName && (await files.stat(text))?.isDirectory) throw noExport;
  const dataset_id = await context.resolveId("kb", text).catch((error: unknown) => {
    const missing = error instanceof CliError && error.kind === "not-found";
    throw missing && !isName && /[/\\]/.test(text) ? noExport : error;
  });
  const state = await stateOf(dataset_id, context, { exact: true });
  const sums = new Map<string, string | null>();
  for await (const { document, bytes } of readContents(dataset_id, state.documents, context))
    sums.set(document.id, bytes ? sha256(bytes) : null);
  const documents = state.documents.map((each) => ({ ...each, sha256: sums.get(each.id) ?? null }));
  return { ...state, documents };
}
