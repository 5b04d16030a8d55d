import { dirname, basename } from "node:path";
import { didYouMean } from "../lib/did-you-mean.ts";
import type { Files } from "./host.ts";

/** The hint for a path that does not exist: the entry beside it that was probably meant. */
export async function missingPathHint(path: string, files: Pick<Files, "list">): Promise<string> {
  const names = await files.list(dirname(path)).catch(() => undefined);
  const near = names && didYouMean(basename(path), names);
  if (near !== undefined) return `did you mean ${JSON.stringify(near)}?`;
  return names
    ? "paths are relative to the current directory"
    : `there is no directory ${JSON.stringify(dirname(path))}`;
}
