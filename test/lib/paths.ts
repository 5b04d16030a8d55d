import { join } from "node:path";

/** Directory of the project. */
export const root = join(import.meta.dirname, "..", "..");

/** Directory of the recorded exchanges. */
export const recordingsFolder = join(root, "test", "recordings");

/** Directory of the requests that each operation must send, written by hand. */
export const wireFolder = join(root, "test", "wire");
