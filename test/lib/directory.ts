import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { unzip } from "../../src/lib/formats/unzip.ts";

/** Files of a directory by path; null deletes one. */
export type Tree = Readonly<Record<string, string | Uint8Array | null>>;

/** Writes files and deletes those that are null. */
export async function write(directory: string, tree: Tree): Promise<void> {
  for (const [path, content] of Object.entries(tree)) {
    const place = join(directory, path);
    await mkdir(dirname(place), { recursive: true });
    if (content === null) await rm(place, { force: true });
    else await writeFile(place, content);
  }
}

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly indexing_status: string;
  readonly doc_metadata: readonly { readonly name: string; readonly value: unknown }[] | null;
}

/** Documents of a knowledge base by name with their content, read without our programs. */
export async function contentsOf(
  origin: string,
  kb: string,
): Promise<ReadonlyMap<string, { readonly text: string; readonly hash: unknown }>> {
  const headers = { authorization: "Bearer dataset-sandbox", "content-type": "application/json" };
  const all: Listed[] = [];
  for (let page = 1; ; page++) {
    const url = `${origin}/v1/datasets/${kb}/documents?limit=100&page=${page}`;
    const { data } = (await (await fetch(url, { headers })).json()) as { data: Listed[] };
    all.push(...data);
    if (data.length < 100) break;
  }
  const documents = new Map<string, { text: string; hash: unknown }>();
  for (let at = 0; at < all.length; at += 100) {
    const batch = all.slice(at, at + 100);
    const response = await fetch(`${origin}/v1/datasets/${kb}/documents/download-zip`, {
      method: "POST",
      headers,
      body: JSON.stringify({ document_ids: batch.map(({ id }) => id) }),
    });
    let index = 0;
    const zip = new Uint8Array(await response.arrayBuffer());
    for await (const bytes of unzip(one(zip))) {
      const { name = "", doc_metadata } = batch[index++] ?? {};
      expect(documents.has(name), `two documents have the name ${name}`).toBe(false);
      const hash = doc_metadata?.find((each) => each.name === "kb_hash")?.value;
      documents.set(name, { text: new TextDecoder().decode(bytes), hash });
    }
  }
  return documents;
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Action and path of each row in the output of a sync. */
export const actions = (out: string): string[] =>
  out
    .split("\n")
    .filter(Boolean)
    .map((line) => line.split("\t").slice(0, 2).join(" "))
    .sort(); // documents are printed when they are indexed, in any order
