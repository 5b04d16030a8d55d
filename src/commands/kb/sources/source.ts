import { CliError } from "../../../errors.ts";
import type { FieldValues } from "../documents/index.ts";
import type { ExcludedEntry, FileFilter, Obstacle } from "./walk.ts";

/** A file of a directory, a page of a site, a document of any other source. */
export interface SourceObject {
  readonly kind: "file";
  /** Relative to the source, with `/`; it identifies the document and has its file type. */
  readonly path: string;
  /** Path to open it, if it is a file of this machine. */
  readonly location?: string;
  /** Changes whenever the content may have changed; without it, only reading tells. */
  readonly fingerprint?: string;
  /** In bytes. */
  readonly size?: number;
  /** Metadata of the document. */
  readonly metadata?: FieldValues;
}

export type SourceEntry = SourceObject | Obstacle | ExcludedEntry;

/** What a source has. */
export interface SourceList {
  readonly entries: readonly SourceEntry[];
  /** Why objects may be missing; nothing is deleted then. */
  readonly problem?: string | undefined;
}

/** The content of an object. */
export interface Content {
  readonly bytes: Uint8Array;
  /** Of this content, if the list has none. */
  readonly fingerprint?: string;
  /** Metadata that only the content shows. */
  readonly metadata?: FieldValues;
}

/** An object that has a document and is not listed, with the address that the document has. */
export interface Unlisted {
  readonly path: string;
  readonly url: string | undefined;
}

/** `get` throws it for an object that is another listed one under a second name: it counts as not listed. */
export class SameObject extends CliError {
  constructor(path: string) {
    super("failure", `it is the same as ${path}`, { sideEffect: "none" });
  }
}

/** Why an object may exist although it is not listed. */
export interface Doubt {
  readonly path: string;
  readonly problem: string;
}

/** Where documents come from: listed once for each sync, then read where it is not known to be unchanged. */
export interface Source {
  /** Documents are marked with it; undefined for a directory, whose prefix identifies it. */
  readonly address?: string;
  /** Objects that are read at a time (default: 16). */
  readonly concurrency?: number;
  /** Objects that cannot be told to exist or not are obstacles. Throws usage and failures of the source. */
  list(filter: FileFilter): Promise<SourceList>;
  /** Called once, with all objects that will be read. */
  prepare?(objects: readonly SourceObject[]): Promise<void>;
  /** The content; undefined if it still has the fingerprint `known`. A thrown error is the result of this object. */
  get(object: SourceObject, known?: string): Promise<Content | undefined>;
  /** Which of these unlisted objects are certainly gone; without it, all of a complete list. */
  gone?(objects: readonly Unlisted[]): Promise<{
    readonly gone: ReadonlySet<string>;
    readonly doubts: readonly Doubt[];
  }>;
  /** Ends what it has started. */
  close?(): Promise<void>;
}

/** What marks the documents of a source, with the prefix of their paths. */
export const markOf = ({ address }: Source, prefix: string | undefined): string =>
  address === undefined ? (prefix ?? ".") : [address, ...(prefix ? [prefix] : [])].join(" ");

/** An object that is listed and not taken: it is reported, and no document that may be its own is deleted. */
export const omitted = (path: string, problem: string): Obstacle => ({
  kind: "unreadable",
  path,
  problem,
});

/** An object of which a source cannot tell whether it exists, or what it has. */
export const unsure = (path: string, why: string): Obstacle => omitted(path, `unsure: ${why}`);

/** What a file of sources says of one, beside its address. */
export interface SourceOptions {
  /** Directory of the programs that it runs (default: that of this process). */
  readonly cwd?: string | undefined;
  /** Environment of the programs that it runs. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Value of the header Authorization. */
  readonly authorization?: string | undefined;
  /** Encoding of its texts (default UTF-8). */
  readonly encoding?: string | undefined;
  /** May the name of a host lead to a private address? */
  readonly isPrivate?: boolean | undefined;
}
