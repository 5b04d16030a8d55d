import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Path of a certificate of this folder. */
export const pathOf = (name: string): string => join(import.meta.dirname, `${name}.pem`);

/** What a server shows, and its key. */
export const certificate = (name: string): { cert: Buffer; key: Buffer } => ({
  cert: readFileSync(pathOf(name)),
  key: readFileSync(pathOf("key")),
});
