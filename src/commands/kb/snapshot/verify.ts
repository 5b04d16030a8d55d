import { counted } from "../../../lib/plural.ts";
import { CliError, usage } from "../../../errors.ts";
import { contentHashes, readKbState } from "../documents/index.ts";
import { hashedDocuments, notImported, readManifest } from "./bundle.ts";
import { diffKb } from "./diff.ts";
import type { ComparedKb, KbDifference } from "./diff.ts";
import type { Input } from "../../../operations/operation.ts";
import type { Context } from "../../command-spec.ts";
import type { verifyParams } from "../specs.ts";

/** Compares two knowledge bases or exports byte for byte. Throws gate if there are differences. */
export async function* run(
  input: Input<typeof verifyParams>,
  context: Context,
): AsyncGenerator<KbDifference> {
  const other = input.to_profile === undefined ? context : context.withProfile(input.to_profile);
  const a = await readSide(input.a, context);
  const b = await readSide(input.b, other);
  let count = 0;
  for (const difference of diffKb(a, b)) {
    count++;
    yield difference;
  }
  const scope = scopeOf(a, b);
  if (count > 0) {
    throw new CliError("gate", `${counted(count, "difference")}; ${scope}`, {
      isResult: true,
      details: { differences: count },
    });
  }
  context.summary(`no differences; ${scope}`);
}

function scopeOf(a: ComparedKb, b: ComparedKb): string {
  const documents = `${a.documents.length} and ${b.documents.length} documents with their content and metadata`;
  const missing = a.documents.filter((document) => document.sha256 === null).length;
  const withoutContent = missing > 0 ? `; documents without content: ${missing}` : "";
  return `compared ${documents}, ${counted(a.fields.length, "field")}, ${counted(a.tags.length, "tag")} and the settings${withoutContent}; not compared: ${notImported(a.settings)}`;
}

/** Reads a knowledge base or the directory of an export; `name:` and `id:` are never a path. */
async function readSide(text: string, context: Context): Promise<ComparedKb> {
  const { files } = context.host;
  const isName = /^(name|id):/.test(text);
  const manifest = isName ? undefined : await readManifest(text, files);
  if (manifest) {
    const hashed = await hashedDocuments(text, manifest.state, context);
    const documents = hashed.map(({ hash, ...document }) => ({ ...document, sha256: hash }));
    return { ...manifest.state, documents };
  }
  const noExport = usage(
    `no export found in ${text}`,
    "create one with kb export <kb> <dir>, or write name:<kb> for a knowledge base",
  );
  if (!isName && (await files.stat(text))?.isDirectory) throw noExport;
  const dataset_id = await context.resolveId("kb", text).catch((error: unknown) => {
    const isMissing = error instanceof CliError && error.kind === "not-found";
    throw isMissing && !isName && /[/\\]/.test(text) ? noExport : error;
  });
  const state = await readKbState(dataset_id, context, { exact: true });
  const hashes = await contentHashes(dataset_id, state.documents, context);
  const documents = state.documents.map((each) => ({
    ...each,
    sha256: hashes.get(each.id) ?? null,
  }));
  return { ...state, documents };
}
