import { createHash } from "node:crypto";
import type { Values } from "../../api/request.ts";
import { settingsFor } from "../../config/settings.ts";
import { targetOf } from "../../config/target.ts";
import type { Host, Output } from "../../host/host.ts";
import { isObject, own } from "../../lib/json.ts";
import { listDocuments } from "../../operations/documents.ts";
import { listKnowledgeBases } from "../../operations/knowledge.ts";
import { listMetadataFields } from "../../operations/metadata.ts";
import type { AnyOperation, Noun } from "../../operations/operation.ts";
import { listTags } from "../../operations/tags.ts";
import type { Command } from "../parse/command.ts";
import type { Globals } from "../parse/shared-flags.ts";
import { resolveName } from "../execute/resolve-names.ts";
import { optionsFor } from "../parse/options.ts";
import { openSession } from "../execute/session.ts";
import type { Session } from "../execute/session.ts";

/** A thing that has a name. */
export interface Named {
  readonly name: string;
  readonly id: string;
}

/** Whose names are wanted. */
interface Asked {
  readonly command: Command;
  /** Flags of the line, long form, with their values. */
  readonly flags: ReadonlyMap<string, string>;
  /** The knowledge base they belong to, name or id. */
  readonly within: string | undefined;
  /** The beginning that was typed. */
  readonly typed: string;
}

/** Where the things of a noun are listed. */
interface Listing {
  readonly row: AnyOperation;
  readonly input?: Values;
  /** They belong to a knowledge base, which must be known first. */
  readonly within?: true;
  /** A `keyword` narrows the list. */
  readonly narrows?: true;
}

const lists: Readonly<Record<Noun, Listing>> = {
  kb: { row: listKnowledgeBases, narrows: true, input: { include_all: true } },
  document: { row: listDocuments, narrows: true, within: true },
  tag: { row: listTags },
  field: { row: listMetadataFields, within: true },
};

/** ms that somebody who pressed Tab waits at most. */
const patience = 300;
/** ms that names are kept. */
const freshness = 60_000;
/** Rows of one page; a list that is longer is asked for by what was typed. */
const most = 100;

/**
 * Names of a noun as the server has them, at most 100: kept for a minute in the cache folder, asked
 * for within 300 ms. Throws or gives none when that fails; asks nobody and starts nothing.
 */
export async function namesOf(noun: Noun, asked: Asked, host: Host): Promise<readonly Named[]> {
  const { row, within, narrows } = lists[noun];
  if (within && asked.within === undefined) return [];
  return inTime(silent(host), async (timed) => {
    const session = sessionFor(asked, timed);
    try {
      const { baseUrl, key } = targetOf(await session.settings(), row.key);
      const fetched = (keyword: string) => {
        // Keys of two workspaces may share a base URL: a digest keeps them apart, not the key.
        const label = createHash("sha256")
          .update(JSON.stringify([baseUrl, key, row.id, asked.within, keyword]))
          .digest("hex");
        return cached(label, timed, () => read(noun, asked.within, keyword, session));
      };
      const first = await fetched("");
      return first.length < most || !narrows || asked.typed === "" ? first : fetched(asked.typed);
    } finally {
      await session.close();
    }
  });
}

/** Names of the applications of the profile in use. */
export async function appNames(
  flags: ReadonlyMap<string, string>,
  host: Host,
): Promise<readonly string[]> {
  // Both keys are named so that the profile is read even where the environment holds one.
  const settings = await settingsFor({ profile: flags.get("--profile") }, silent(host), {
    key: "both",
    run: false,
  });
  return settings.apps;
}

function sessionFor({ command, flags }: Asked, host: Host): Session {
  const given = {
    profile: flags.get("--profile"),
    baseUrl: flags.get("--base-url"),
    caFile: flags.get("--ca-file"),
  };
  const known = Object.entries(given).filter(([, value]) => value !== undefined);
  const globals: Globals = {
    ...Object.fromEntries(known),
    insecureHttp: flags.has("--insecure-http"),
    retries: "0",
  };
  return openSession(command, optionsFor(globals, host), host);
}

async function read(
  noun: Noun,
  within: string | undefined,
  keyword: string,
  session: Session,
): Promise<Named[]> {
  const { row, input, narrows } = lists[noun];
  const lookup = {
    rows: (list: AnyOperation, wanted: Values) => session.rows(list, wanted, { limit: Infinity }),
    one: (show: AnyOperation, wanted: Values) => session.call(show, wanted),
    base: async (name: string) => own((await session.settings()).bases, name),
    trace: () => Promise.resolve(),
    notice: () => Promise.resolve(),
    checks: false,
  };
  const scope =
    lists[noun].within && within !== undefined
      ? { dataset_id: (await resolveName("kb", within, {}, lookup)).id }
      : {};
  const narrowed = narrows && keyword !== "" ? { keyword } : {};
  const names = new Map<string, string>();
  for await (const found of session.rows(
    row,
    { ...scope, ...input, ...narrowed },
    { limit: most },
  )) {
    if (!isObject(found)) continue;
    const { id, name } = found;
    if (typeof name === "string" && typeof id === "string") names.set(name, id);
  }
  return [...names].map(([name, id]) => ({ name, id }));
}

/** What was read less than a minute ago, else what `fetch` gives. Only names and ids are stored. */
async function cached(
  label: string,
  host: Host,
  fetch: () => Promise<readonly Named[]>,
): Promise<readonly Named[]> {
  const path = `${host.directories.cache}/names.json`;
  const now = host.now().getTime();
  const fresh = (entry: unknown): boolean =>
    isObject(entry) && now - Number(entry["at"]) >= 0 && now - Number(entry["at"]) < freshness;
  const kept = Object.entries(await stored(path, host)).filter(([, entry]) => fresh(entry));
  const entry = kept.find(([name]) => name === label)?.[1];
  if (isObject(entry) && Array.isArray(entry["names"])) {
    return entry["names"] as readonly Named[]; // written below
  }
  const names = await fetch();
  try {
    await host.files.makeDirectory(host.directories.cache, 0o700);
    const text = JSON.stringify({ ...Object.fromEntries(kept), [label]: { at: now, names } });
    await host.files.writeAtomic(path, text, 0o600);
  } catch {
    // without a place for them names are read each time
  }
  return names;
}

async function stored(path: string, host: Host): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(await host.files.read(path)));
    return isObject(value) ? value : {};
  } catch {
    return {}; // none yet, or damaged: written anew
  }
}

/**
 * Gives what `work` gives, or throws when it takes too long; its requests are then aborted, and a file
 * that is being written is written to its end.
 */
async function inTime<T>(host: Host, work: (timed: Host) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  const late = new AbortController();
  const signal = AbortSignal.any([host.signal, late.signal]);
  const working = work({ ...host, signal });
  try {
    return await Promise.race([working, tooLate(host, ended.signal)]);
  } finally {
    ended.abort();
    late.abort();
    await working.catch(() => {});
  }
}

/** Throws when the patience is over: a timer may fire early. */
async function tooLate(host: Host, ended: AbortSignal): Promise<never> {
  const start = host.elapsed();
  for (let left = patience; left > 0; left = start + patience - host.elapsed()) {
    await host.sleep(left, ended);
  }
  throw new Error("too late");
}

/** The same world, but nothing is written, asked or started: somebody is typing a line. */
function silent(host: Host): Host {
  const nowhere: Output = { ...host.stderr, write: () => Promise.resolve(), isTTY: false };
  const never = () => {
    throw new Error("nothing is started while a line is typed");
  };
  return { ...host, stdout: nowhere, stderr: nowhere, spawn: never, prompt: never };
}
