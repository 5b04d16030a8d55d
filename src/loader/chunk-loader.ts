import { join } from "node:path";
import { Script } from "node:vm";

/** Where the chunks of the bundle come from. */
export interface ChunkFiles {
  /** The directory that the chunks are in, or believe to be in. */
  readonly folder: string;
  /** Returns the source of a chunk. */
  read(name: string): string;
  /** Returns what V8 compiled of a chunk before; undefined if there is nothing. */
  readCompiled(name: string, source: string): Uint8Array | undefined;
}

const head = "(function (exports, require, module, __filename, __dirname) {";

/** The function of a module; `head` names its parameters. */
type Body = (...values: readonly unknown[]) => void;

/** Compiles a chunk: the body of a CommonJS module. */
export const compile = (
  filename: string,
  source: string,
  options: { readonly cachedData?: Uint8Array | undefined; readonly columnOffset?: number } = {},
): Script => new Script(`${head}${source}\n})`, { filename, ...options });

/**
 * Returns a function that loads a chunk by its name, as `require` does, but with code that was compiled
 * before. `onLoaded` gets each name, source and script.
 */
export function chunkLoader(
  { folder, read, readCompiled }: ChunkFiles,
  onLoaded: (name: string, source: string, script: Script) => void = () => {},
): (name: string) => unknown {
  const modules = new Map<string, { exports: unknown }>();
  const requireElsewhere = (id: string): unknown =>
    process.getBuiltinModule("node:module").createRequire(join(folder, "main.cjs"))(id);
  // For a module of Node.js, `require` would prepare an ES module as well: 0.2 ms of a start.
  const requireFrom = (id: string): unknown =>
    id.startsWith("./")
      ? load(id.slice(2))
      : (process.getBuiltinModule(id) ?? requireElsewhere(id));
  const load = (name: string): unknown => {
    const known = modules.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} as unknown };
    modules.set(name, module);
    const path = join(folder, name);
    const source = read(name);
    const script = compile(path, source, { cachedData: readCompiled(name, source) });
    onLoaded(name, source, script);
    (script.runInThisContext() as Body)(module.exports, requireFrom, module, path, folder);
    return module.exports;
  };
  return load;
}
