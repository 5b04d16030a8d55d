import { collect } from "../../../lib/collect.ts";
import type { Context } from "../../task/command-spec.ts";
import { documentNames } from "../snapshot/index.ts";
import type { Source } from "./source.ts";
import { walkFiles } from "./walk.ts";

/** A directory as a source; the files of an export have the names of their documents. */
export function directorySource(directory: string, { host: { files } }: Context): Source {
  return {
    label: directory,
    async list(filter) {
      const entries = await collect(walkFiles(directory, filter, files));
      const names = await documentNames(directory, files);
      if (names.size === 0) return { entries };
      return {
        entries: entries.map((entry) => ({ ...entry, path: names.get(entry.path) ?? entry.path })),
      };
    },
    get: async ({ location = "" }) => ({ bytes: await files.read(location) }),
  };
}
