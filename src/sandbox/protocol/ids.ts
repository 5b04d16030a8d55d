import { createHash } from "node:crypto";

/** Returns a function that makes random UUIDs; they are distinct even if `random` returns a constant. */
export function idSource(random: () => number): () => string {
  let created = 0;
  return () => fixedId("new", String(created++), String(random()), String(random()));
}

/** Returns the same UUID for the same words. */
export function fixedId(...words: readonly string[]): string {
  const hex = createHash("sha256").update(words.join("/")).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** ID of an application. */
export const appId = (app: string): string => fixedId("app", app);
/** ID of an application's only published workflow. */
export const workflowId = (app: string): string => fixedId("workflow", app);
/** ID of the sandbox's only workspace. */
export const tenantId = fixedId("tenant");
/** The account of a knowledge key (server §2). */
export const account = { id: fixedId("account"), name: "admin" } as const;

/** Converts ms to whole Unix seconds. */
export const toSeconds = (ms: number): number => Math.floor(ms / 1000);

/** The query of a file's URL, which looks signed; the sandbox does not check it. `ms` is its time. */
export function signedQuery(fileId: string, ms: number): string {
  const sign = (word: string) => fixedId(word, fileId).replaceAll("-", "");
  return `timestamp=${toSeconds(ms)}&nonce=${sign("nonce")}&sign=${sign("sign")}`;
}

/** Returns the same number, from 0 to below 1, for the same words. */
export const fixedNumber = (...words: readonly string[]): number =>
  createHash("sha256").update(words.join("/")).digest().readUIntBE(0, 6) / 2 ** 48;

/** The key of all knowledge bases; each application has its own. */
export const KNOWLEDGE_KEY = "dataset-sandbox";

/** The key of an application. */
export const appKey = (name: string): string => `app-${name}`;
