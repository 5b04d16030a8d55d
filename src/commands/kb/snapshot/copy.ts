import { join } from "node:path";
import { CliError, refused } from "../../../errors.ts";
import { sha256 } from "../../../lib/sha256.ts";
import { getKnowledgeBase } from "../../../operations/knowledge.ts";
import type { Input } from "../../../operations/operation.ts";
import { readKbState } from "../documents/index.ts";
import type { KbSettings } from "../documents/index.ts";
import { lockWork } from "../../task/files.ts";
import { findKb } from "../knowledge/index.ts";
import { surveyCopy } from "./as-is.ts";
import { notImported } from "./bundle.ts";
import { exportBundle } from "./export.ts";
import { importBundle, planImport } from "./import.ts";
import { importNotePath } from "./import-target.ts";
import type { Context } from "../../task/command-spec.ts";
import type { copyParams } from "./command.ts";
import { commandLine } from "../../../lib/command-line.ts";

type CopyInput = Input<typeof copyParams>;

/** Copies by an export into the cache directory and an import. If that fails, the export stays for the next run. */
export async function* run(input: CopyInput, context: Context): AsyncGenerator<unknown> {
  const { dataset_id, to_profile, ...flags } = input;
  const target = to_profile === undefined ? context : context.with({ profile: to_profile });
  await requireFreeName(input, target, context);
  if (context.options.dryRun) {
    const state = await readKbState(dataset_id, context);
    if (flags.as_is) await surveyCopy(dataset_id, state, context);
    return yield* planImport(flags, state, target);
  }
  if (flags.as_is) await requireAnswer(dataset_id, target, context);
  const { files, directories } = context.host;
  const copies = join(directories.cache, "copies");
  const source = `${await context.api.baseUrl()}\n${dataset_id}`;
  const directory = join(copies, sha256(source).slice(0, 32));
  await files.makeDirectory(copies, 0o700);
  const busy = "another command is copying this knowledge base";
  const release = await lockWork(directory, busy, context.host);
  let copy: KbSettings | undefined;
  try {
    copy = yield* copyThrough(directory, { dataset_id, ...flags }, target, context);
  } finally {
    release();
  }
  if (copy === undefined) return; // a dry run
  const { name } = copy;
  const verify = commandLine("kb verify", [dataset_id, `name:${name}`], {
    "to-profile": to_profile,
    chunks: flags.as_is ? true : undefined,
  });
  context.summary(`copied ${context.enteredName(dataset_id)} to ${name}; to compare: ${verify}`);
  if (!flags.as_is) context.summary(`not copied: ${notImported(copy)}`);
}

/** Exports into a directory and imports from there; if that fails, a notice says how to resume. */
async function* copyThrough(
  directory: string,
  { dataset_id, ...flags }: Omit<CopyInput, "to_profile">,
  target: Context,
  context: Context,
): AsyncGenerator<unknown, KbSettings | undefined> {
  const quiet = { ...context, notice: () => Promise.resolve(), summary: () => {} };
  const exported = { dataset_id, directory, no_chunks: !flags.as_is };
  try {
    for await (const _row of exportBundle(exported, quiet)) {
      // the import reports each document
    }
    return yield* importBundle({ ...flags, directory }, target, () =>
      context.host.files.remove(directory),
    );
  } catch (error) {
    if ((await context.host.files.stat(directory)) !== null) {
      await context.notice(
        `the downloaded documents stay in ${directory}; run the same command again to resume`,
      );
    }
    throw error;
  }
}

/** Throws usage where the question after the download, what a copy as it is embeds, could not be answered. */
async function requireAnswer(
  dataset_id: string,
  target: Context,
  { api, enteredName, options }: Context,
): Promise<void> {
  const { indexing_technique, document_count } = await api.call(getKnowledgeBase, { dataset_id });
  if (indexing_technique !== "high_quality" || document_count === 0 || options.input) return;
  await target.confirm(
    `Embed the documents of ${enteredName(dataset_id)} and their chunks again?`,
    {
      declined: "nothing was imported",
    },
  );
}

/** Throws refused if the name of the copy is taken, except by an interrupted copy. */
async function requireFreeName(
  { dataset_id, name, to_profile }: CopyInput,
  target: Context,
  context: Context,
): Promise<void> {
  const copyName = name ?? (await context.api.call(getKnowledgeBase, { dataset_id })).name;
  const note = await target.host.files.stat(await importNotePath(copyName, dataset_id, target));
  if (note !== null) return;
  const taken = await findKb(copyName, target).catch((error: unknown) => {
    if (error instanceof CliError && error.kind === "refused") return "several";
    throw error;
  });
  if (taken === undefined) return;
  throw refused(
    `knowledge base ${JSON.stringify(copyName)} already exists`,
    `choose another name: ${commandLine("kb copy", [dataset_id], { name: `${[...copyName].slice(0, 35).join("")} copy`, "to-profile": to_profile })}`,
    { code: "already-exists" },
  );
}
