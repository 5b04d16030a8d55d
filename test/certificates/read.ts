import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Path of a certificate in this directory. */
export const pathOf = (name: string): string => join(import.meta.dirname, `${name}.pem`);

/** A server certificate and its key. */
export const certificate = (name: string): { cert: Buffer; key: Buffer } => ({
  cert: readFileSync(pathOf(name)),
  key: readFileSync(pathOf("key")),
});
