import { usage } from "../../../errors.ts";
import { collect } from "../../../lib/collect.ts";
import { encodingName } from "../../../lib/formats/encoding.ts";
import type { Context } from "../../task/command-spec.ts";
import { documentNames } from "../snapshot/index.ts";
import type { Source, SourceOptions } from "./source.ts";
import { walkFiles } from "./walk.ts";

/**
 * Opens a source: a directory, a collection (JSON Lines), `git+URL#REF:PATH`, `rclone:REMOTE:PATH`, `web+URL` or
 * `exec:PROGRAM ARGS`. Throws usage for an address that is none.
 */
export async function openSource(
  address: string,
  context: Context,
  options: SourceOptions = {},
): Promise<Source> {
  const { encoding } = options;
  if (encoding !== undefined) await encodingName(encoding);
  if (encoding !== undefined && /^(exec:|web\+)|\.(jsonl|ndjson)$/i.test(address))
    throw usage("--encoding is for files; programs and collections have UTF-8, pages say theirs");
  const [, scheme = "", rest = ""] = /^(exec|git\+\w+|rclone|web\+\w+):(.*)$/s.exec(address) ?? [];
  if (/^\w+:\/\/[^/]*:[^/]*@/.test(address.replace(/^\w+\+/, "")))
    throw usage(
      "the address of the source has a password",
      "a password in the command line is seen by others",
    );
  if (scheme === "exec") {
    const { programSource } = await import("./program-source.ts");
    const { wordsOf } = await import("./program.ts");
    const { cwd, env } = options;
    return programSource({ words: wordsOf(rest), cwd, env }, address, context);
  }
  if (scheme.startsWith("git+")) {
    const { gitSource } = await import("./git.ts");
    return gitSource(address, context, options);
  }
  if (scheme === "rclone") {
    const { rcloneSource } = await import("./rclone.ts");
    return rcloneSource(address, context, options);
  }
  if (scheme.startsWith("web+")) {
    const { siteSource } = await import("./site.ts");
    return siteSource(address, context, options);
  }
  if (
    /\.(jsonl|ndjson)$/i.test(address) &&
    !(await context.host.files.stat(address))?.isDirectory
  ) {
    const { corpusSource } = await import("./corpus.ts");
    return corpusSource(address, context);
  }
  return directorySource(address, context);
}

/** A directory as a source; the files of an export have the names of their documents. */
function directorySource(directory: string, { host: { files } }: Context): Source {
  return {
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
