import { createHash } from "node:crypto";

let made = 0;

/** A UUID out of the sandbox's chance; counted, so that chance which stands still makes no twins. */
export const newId = (random: () => number): string =>
  fixedId("new", String(made++), String(random()), String(random()));

/** A UUID that is the same for the same words: ids of applications and their workflows. */
export function fixedId(...words: readonly string[]): string {
  const hex = createHash("sha256").update(words.join("/")).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** Id of an application. */
export const appId = (app: string): string => fixedId("app", app);
/** Id of an application's one published workflow. */
export const workflowId = (app: string): string => fixedId("workflow", app);
/** The one workspace of the sandbox. */
export const tenantId = fixedId("tenant");

/** ms → whole Unix seconds, as answers carry them. */
export const toSeconds = (ms: number): number => Math.floor(ms / 1000);

/** Did somebody send a UUID? */
export const isUuidText = (text: string): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
