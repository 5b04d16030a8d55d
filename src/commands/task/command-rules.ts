import type { Document } from "../../operations/documents.ts";
import type { AnyOperation, Noun } from "../../operations/operation.ts";
import type { Context, Ending, Feature } from "./command-spec.ts";

type Values = Readonly<Record<string, unknown>>;

/** What rules ask about a path. */
export interface PathFacts {
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  readonly size: number;
}

/** What is lost with a deleted object, as its prompt and its dry run say it. */
export interface Deletion {
  /** Such as `297 documents, 480,574 words`. */
  readonly size: string;
  /** Name that a prompt wants typed, where much is lost. */
  readonly type?: string | undefined;
}

/** The checked values of a command, while names are resolved and missing values filled in. */
export interface Filling {
  readonly input: Values;
  /** The values with IDs in place of names. Throws not-found, and refused for an ambiguous name. */
  resolved(): Promise<Record<string, unknown>>;
  /** The object that an argument names: as resolving it has read it, or else by a request. */
  object(noun: Noun): Promise<Values | undefined>;
  readonly read: ReadCall;
  /** Remembers the name that an ID was resolved from, for hints. */
  entered(id: string, name: string): void;
  /** Prints a line with -v. */
  trace(text: string): Promise<void>;
  /** Leads to the flags of the command. */
  readonly helpHint: string;
}

/** How arguments are chosen. */
export interface ChosenArgument {
  readonly params: readonly string[];
  /** What help says of it: `last is the newest`. */
  readonly help: string;
  /** Which things it takes. */
  readonly kind: "any" | "running" | "traced" | "compared";
  /**
   * The value in place of the typed one, or of none; the command is for hints. Throws usage if it is missing and no
   * prompt is possible.
   */
  choose(
    typed: unknown,
    place: { readonly kind: ChosenArgument["kind"]; readonly command: string },
    context: Context,
  ): Promise<unknown>;
}

/**
 * What a feature adds to a command that is one request. The list of a program has the rules of each such
 * command; they load their code when they are called.
 */
export interface CommandRules {
  /** Throws usage for a path that no command or another one takes, before it is read. */
  checkPaths?(typed: Values, stat: (path: string) => Promise<PathFacts | null>): Promise<void>;
  /**
   * Asks on a terminal for what the command line leaves open; for a task, after the error of a name that was not
   * found, which it throws again if the reply does not mend it.
   */
  ask?(input: Values, context: Context, error?: unknown): Promise<Values>;
  /** Arguments that a task takes by a word such as `last`, and asks for on a terminal if one is missing. */
  readonly chosen?: ChosenArgument;
  /** Parameters without which there is nothing to fill in. */
  readonly fills?: readonly string[];
  /** Fills in values that follow from others. Throws usage for those that the server would ignore. */
  fill?(filling: Filling): Promise<Values>;
  /** Names what the request would replace. Throws refused if that cannot be read. */
  beforeSend?(input: Values, context: Context): Promise<void>;
  /** Sends the request, with what belongs to it. */
  send?(input: Values, context: Context): Promise<unknown>;
  /** Explains a response by a notice, or by the success message that it returns; `input` has the values of the request. */
  explain?(response: unknown, context: Context, input: Values): Promise<string | void>;
  /** What the success message ends with: what comes next, for the words of the line. */
  next?(typed: Values): string;
  /** Reads what is lost; undefined where that is only the object itself, or the server does not tell. */
  deletion?(ids: Values, call: ReadCall): Promise<Deletion | undefined>;
}

/** Sends a request that reads. */
export type ReadCall = (row: AnyOperation, input: Values) => Promise<unknown>;

/** A command that changes an object, and what carries it out. */
export interface GuardedChange {
  /** The object, as entered. */
  readonly object: string;
  /** The command with its arguments, not its flags, whose values may be long or private. */
  readonly line: string;
  /** How many writes the server has accepted. */
  writes(): number;
  values(context: Context): AsyncGenerator<unknown, Ending | void>;
}

/** What the features of a program tell the engine; the list of the program fills it. */
export interface ProgramFeatures {
  readonly features: readonly Feature[];
  /** By the words of the command. */
  readonly rules: Readonly<Record<string, CommandRules>>;
  /** A read of each group of operations, which shows whether a server has it, for `doctor`. */
  probes(): Promise<Readonly<Record<string, AnyOperation>>>;
  /** Names the documents of a knowledge base that meet all conditions. Throws usage for an invalid one. */
  documentsWhere?(kb: string, where: readonly string[], context: Context): Promise<Document[]>;
  /** Yields the values of a change, with what a feature does around it, such as backups. */
  guard?(change: GuardedChange, context: Context): AsyncGenerator<unknown, Ending | void>;
}
