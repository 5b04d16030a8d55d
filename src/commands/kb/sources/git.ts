import { join } from "node:path";
import { usage } from "../../../errors.ts";
import { isPublicAddress } from "../../../lib/addresses.ts";
import { attempt } from "../../../lib/json.ts";
import { sha256 } from "../../../lib/sha256.ts";
import type { Context } from "../../task/command-spec.ts";
import type { FieldValues } from "../documents/index.ts";
import { entryMaker, pathProblem } from "./paths.ts";
import { bytesFrom, outputOf, programFailed, textFrom } from "./program.ts";
import type { Program } from "./program.ts";
import { MAX_CONTENT } from "./program-source.ts";
import { extensionOf, uploadKind } from "./content.ts";
import { omitted } from "./source.ts";
import type { Source, SourceEntry, SourceOptions } from "./source.ts";

/** A directory of a repository at a branch, tag or commit. */
interface GitPlace {
  readonly url: string;
  readonly ref: string;
  readonly path: string;
}

/** Commits of which the author and date of a file are known; older ones are not fetched. */
const HISTORY = 1000;

/**
 * A directory of a git repository as a source: `git+URL#REF:PATH`. Only what is needed is fetched into a bare
 * repository in the cache, without hooks: trees and commits first, contents of changed files later. If the commit
 * is known, one request tells.
 */
export function gitSource(address: string, context: Context, options: SourceOptions): Source {
  const place = placeOf(address);
  const repository = newRepository(place, context, options);
  const blobs = new Map<string, string>();
  return {
    address,
    concurrency: 4,
    async list(filter) {
      const commit = await repository.fetched();
      const tree = await repository.text("ls-tree", "-r", "-z", `${commit}:${place.path}`);
      const changes = await lastChanges(repository, commit, place.path);
      const entryOf = await entryMaker(filter);
      const lines = tree.split("\0").filter((line) => line !== "");
      const entries = lines.map((line): SourceEntry => {
        const [, mode = "", id = "", path = ""] = /^(\d+) \w+ (\w+)\t(.*)$/s.exec(line) ?? [];
        const what = notFiles[mode];
        const isFile = what === undefined || (mode === LINK && !mayBeDirectory(path));
        const make = (): SourceEntry => {
          if (what !== undefined && (!isFile || uploadKind(path))) return omitted(path, what);
          blobs.set(path, id);
          const metadata = { url: webAddress(place, path), ...changes.get(path) };
          return { kind: "file", path, fingerprint: id, metadata };
        };
        return entryOf(path, make, !isFile);
      });
      return { entries };
    },
    async prepare(objects) {
      const ids = objects.flatMap(({ path }) => blobs.get(path) ?? []);
      await repository.fetchContents(ids);
    },
    get: async ({ path }) => ({
      bytes: await repository.bytes("cat-file", "blob", blobs.get(path) ?? ""),
    }),
  };
}

const LINK = "120000";
/** What a tree has besides files, by its mode. */
const notFiles: Readonly<Record<string, string>> = {
  [LINK]: "a symlink is not followed: exclude it, or sync a checkout",
  "160000": "a submodule is not read: exclude it, or sync its own repository",
};

/** A link without an extension. */
const mayBeDirectory = (path: string): boolean => extensionOf(path) === "";

/** Parses `git+URL#REF:PATH`. Throws usage. */
function placeOf(address: string): GitPlace {
  const [, url = "", ref = "", path = ""] =
    /^git\+([^#]+)(?:#([^:]*)(?::(.*?)\/?)?)?$/s.exec(address) ?? [];
  const parsed = attempt(() => new URL(url));
  const wrong = (why: string) =>
    usage(
      `invalid git source: ${why}`,
      "for example git+https://host.example/team/docs.git#main:handbook",
    );
  if (!parsed || !/^(https|ssh|file|http):$/.test(parsed.protocol))
    throw wrong("its address begins with git+https, git+ssh, git+file or git+http");
  if (parsed.protocol === "http:" && isPublicAddress(parsed.hostname))
    throw wrong("git+http is for this machine only");
  if (!/^[\w./@+-]*$/.test(ref) || ref.startsWith("-")) throw wrong("the branch, tag or commit");
  if (path !== "" && pathProblem(path)) throw wrong(`the path: ${pathProblem(path)}`);
  return { url, ref: ref || "HEAD", path };
}

/** The git binary, without hooks and prompts. */
function gitIn(directory: string, { env, authorization }: SourceOptions): Program {
  return {
    words: ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-C", directory],
    env: {
      GIT_TERMINAL_PROMPT: "0",
      GIT_ALLOW_PROTOCOL: "https:ssh:file:http",
      ...env,
      // In the environment, because others see arguments.
      ...(authorization !== undefined && {
        GIT_CONFIG_COUNT: "1",
        GIT_CONFIG_KEY_0: "http.extraHeader",
        GIT_CONFIG_VALUE_0: `Authorization: ${authorization}`,
      }),
    },
    install: "install git: https://git-scm.com/downloads",
  };
}

type Repository = ReturnType<typeof newRepository>;

function newRepository({ url, ref }: GitPlace, context: Context, options: SourceOptions) {
  const { files, directories, process } = context.host;
  const directory = join(directories.cache, "git", sha256(url).slice(0, 32));
  const program = gitIn(directory, options);
  const run = (args: readonly string[], input = "") =>
    textFrom(outputOf({ ...program, input }, args, context));
  const text = (...args: readonly string[]) => run(args);
  const succeeds = (args: readonly string[]) =>
    run(args).then(
      () => true,
      (error: unknown) => {
        if (programFailed(error)) return false;
        throw error;
      },
    );
  const fetch = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no"];
  /** The commit of the reference now, and its full name. */
  const remoteCommit = async () => {
    if (/^[0-9a-f]{40,64}$/.test(ref)) return { commit: ref, name: ref };
    const lines = (await text("ls-remote", "origin", ref, `${ref}^{}`)).split("\n");
    const commits = new Map(
      lines.map((line) => line.split("\t")).map(([id = "", name = ""]) => [name, id] as const),
    );
    for (const name of [ref, `refs/heads/${ref}`, `refs/tags/${ref}`]) {
      const commit = commits.get(`${name}^{}`) ?? commits.get(name);
      if (commit) return { commit, name };
    }
    throw usage(`${url} has no branch or tag ${ref}`);
  };
  return {
    directory,
    files,
    text,
    bytes: (...args: readonly string[]) => bytesFrom(outputOf(program, args, context), MAX_CONTENT),
    /** Fetches the commit unless it is there; returns its ID. */
    async fetched(): Promise<string> {
      await files.makeDirectory(directory, 0o700);
      const release = await locked(`${directory}.lock`);
      try {
        await text("init", "-q", "--bare");
        await text("config", "remote.origin.url", url);
        const { commit, name } = await remoteCommit();
        if (await succeeds(["rev-parse", "-q", "--verify", `${commit}^{commit}`])) return commit;
        const part = [`--depth=${HISTORY}`, "--filter=blob:none"];
        await text(...fetch, ...part, "origin", `+${name}:refs/kb/${sha256(ref)}`);
        return commit;
      } finally {
        release();
      }
    },
    /** Fetches contents in one request; one that is missing is fetched when it is read. */
    async fetchContents(ids: readonly string[]) {
      const noop = ["-c", "fetch.negotiationAlgorithm=noop", ...fetch, "--filter=blob:none"];
      if (ids.length > 0)
        await run([...noop, "--stdin", "origin"], `${ids.join("\n")}\n`).catch(() => {});
      if (context.host.signal.aborted) throw context.abortError();
    },
  };

  async function locked(path: string): Promise<() => void> {
    for (;;) {
      const lock = await files.lock(path, process);
      if ("release" in lock) return lock.release;
      await context.pause(200);
    }
  }
}

/** Author and date of the last change of each file, as far as the fetched history has it. */
async function lastChanges({ text, files, directory }: Repository, commit: string, path: string) {
  const shown = ["--format=%x01%H%x00%an%x00%aI%x00", "--name-only", "--no-renames", "-z"];
  const log = await text("log", ...shown, commit, "--", path || ".");
  // The oldest commits of a shallow history seem to add all files.
  const shallow = new TextDecoder().decode(
    await files.read(join(directory, "shallow")).catch(() => new Uint8Array()),
  );
  const oldest = new Set(shallow.split("\n"));
  const changes = new Map<string, FieldValues>();
  for (const record of log.split("\u0001").slice(1)) {
    const [id = "", author = "", changed = "", ...names] = record.split("\0");
    if (oldest.has(id)) continue;
    for (const name of names.map((each) => each.replace(/^\n/, ""))) {
      const relative = path === "" ? name : name.slice(path.length + 1);
      if (relative !== "" && !changes.has(relative)) changes.set(relative, { author, changed });
    }
  }
  return changes;
}

/** Where people read a file: the page of a known host, or else the source with its path. */
function webAddress({ url, ref, path }: GitPlace, file: string): string {
  const full = [path, file].filter(Boolean).join("/");
  const page = url.replace(/(\.git)?\/?$/, "");
  const encoded = full.split("/").map(encodeURIComponent).join("/");
  if (url.startsWith("https://github.com/")) return `${page}/blob/${ref}/${encoded}`;
  if (url.startsWith("https://gitlab.")) return `${page}/-/blob/${ref}/${encoded}`;
  return `${url}#${ref}:${full}`;
}
