import { rowOf } from "./change.ts";
import type { Change, DocumentChange } from "./change.ts";
import type { SentDocument } from "./upload.ts";

const oneName = "the server does not tell these names apart (by case?), rename one of them";

/** Knows whose document each is: a server that compares names without case may replace another's (server §9.1). */
export function newOwners(known: readonly { readonly id: string | null; readonly name: string }[]) {
  const owners = new Map(known.map(({ id, name }) => [id, name]));
  const takers = new Map<string | null, string>();
  return {
    /** The row of a change that replaced the document of another name. */
    taken({ change, id }: SentDocument): Change | undefined {
      const owner = owners.get(id) ?? change.name;
      owners.set(id, owner);
      if (owner === change.name || owner === change.source?.name) return undefined;
      takers.set(id, change.name);
      return rowOf(change, { action: "failed", note: `it replaced ${owner}: ${oneName}` });
    },
    /** The row of a document that was replaced so. */
    lost(change: DocumentChange, id = change.id): Change | undefined {
      const note = `replaced by ${takers.get(id)}: ${oneName}`;
      return takers.has(id) ? rowOf(change, { action: "failed", id, note }) : undefined;
    },
  };
}
