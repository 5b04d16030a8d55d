import { readdirSync, readFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import type { Profiler } from "node:inspector";
import { join } from "node:path";
import { vi } from "vitest";
import { afterFile } from "./cleanup.ts";
import { root } from "./paths.ts";

/** A place in src that calls one of the functions. */
export interface CallSite {
  /** Path from src. */
  readonly file: string;
  /** The first line of the call. */
  readonly code: string;
}

/** Which calls in src have run since `watchCalls`. */
export interface WatchedCalls {
  readonly all: readonly CallSite[];
  reached(): Promise<readonly CallSite[]>;
}

const callOf = (names: readonly string[]) => new RegExp(`\\b(${names.join("|")})\\)?\\(`, "g");

/** Blanks out comments, and keeps every offset. */
const withoutComments = (code: string) =>
  code.replace(/^\s*(\/\*[^]*?\*\/|\/\/.*)/gm, (comment) => comment.replace(/[^\n]/g, " "));

/** The calls in the files of src, each file's in their order; without the file that defines one. */
function callsIn(names: readonly string[]): Map<string, CallSite[]> {
  const files = new Map<string, CallSite[]>();
  for (const file of readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const code = withoutComments(readFileSync(join(root, "src", file), "utf8"));
    if (names.some((name) => new RegExp(`(function|const) ${name}\\b`).test(code))) continue;
    const sites = [...code.matchAll(callOf(names))].map(({ index }) => ({
      file,
      code: code.slice(index).split("\n", 1)[0] ?? "",
    }));
    if (sites.length > 0) files.set(file, sites);
  }
  return files;
}

/**
 * Watches with the counters of V8 which calls of these functions run, in code that is imported after this
 * call: V8 counts nothing in functions that it has compiled before.
 */
export async function watchCalls(...names: readonly string[]): Promise<WatchedCalls> {
  const files = callsIn(names);
  vi.resetModules();
  const session = new Session();
  session.connect();
  afterFile(() => session.disconnect());
  await session.post("Debugger.enable");
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

  const reachedIn = async (file: string, sites: readonly CallSite[], script: Script) => {
    const { scriptSource } = await session.post("Debugger.getScriptSource", {
      scriptId: script.scriptId,
    });
    const calls = [...withoutComments(scriptSource).matchAll(callOf(names))];
    if (calls.length !== sites.length) throw new Error(`${file}: ${calls.length} calls as run`);
    return sites.filter((_, index) => countAt(script, calls[index]?.index ?? 0) > 0);
  };
  return {
    all: [...files.values()].flat(),
    async reached() {
      const { result } = await session.post("Profiler.takePreciseCoverage");
      const reached: CallSite[] = [];
      for (const script of result) {
        const [, file = ""] = /\/src\/(.*\.ts)$/.exec(script.url.replaceAll("\\", "/")) ?? [];
        const sites = files.get(file);
        if (sites) reached.push(...(await reachedIn(file, sites, script)));
      }
      return reached;
    },
  };
}

type Script = Profiler.ScriptCoverage;

/** How often the code at an offset has run: the count of the innermost block around it. */
function countAt({ functions }: Script, offset: number): number {
  const ranges = functions
    .flatMap((each) => each.ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)
    .sort((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset));
  return ranges[0]?.count ?? 0;
}
