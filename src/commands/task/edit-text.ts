import { join } from "node:path";
import { asCliError, refused, usage } from "../../errors.ts";
import { safePath } from "../../host/safe-path.ts";
import { commandLine, shellQuote } from "../../lib/command-line.ts";
import { decodeText } from "../../lib/text.ts";
import type { Context } from "./command-spec.ts";
import { readInput } from "./files.ts";

/** A text of the server that is edited in a file. */
export interface Edited<R> {
  /** The command, its arguments, and the file of --from, which is sent without an editor. */
  readonly line: readonly [command: string, args: readonly string[], from: string | undefined];
  /** The command that needs no terminal. */
  readonly instead: string;
  /** Of the file: by its extension editors know what it is. */
  readonly name: string;
  read(): Promise<string>;
  send(text: string): Promise<R>;
}

/** Sends a text as it was edited, unless it was changed meanwhile. The file is kept and named unless all went well. */
export async function* editText<R>(edited: Edited<R>, context: Context): AsyncGenerator<R> {
  const { line, instead, name, read, send } = edited;
  const { host, options } = context;
  const [command, args, from] = line;
  if (from !== undefined) return yield await send(textIn(await readInput(from, host)));
  const before = await read();
  if (options.dryRun) return context.notice(`would open ${name} in an editor`);
  if (!options.input || !options.terminal) throw usage("an editor needs a terminal", instead);
  const random = Math.floor(host.random() * 2 ** 32).toString(16);
  const directory = join(host.directories.state, "edits", random);
  const path = join(directory, safePath(name.replaceAll("/", "∕")));
  await host.files.makeDirectory(directory, 0o700);
  await host.files.writeAtomic(path, before, 0o600);
  await context.promptLine(`editing ${path}`); // hides the spinner, too
  try {
    await openEditor(path, context);
    const after = textIn(await host.files.read(path));
    // Editors end the last line.
    const text = before.endsWith("\n") ? after : after.replace(/\r?\n$/, "");
    if (text !== before) {
      if ((await read()) !== before) throw refused(`${name} was changed on the server meanwhile`);
      yield await send(text);
    } else await context.notice("nothing was changed or sent");
  } catch (thrown) {
    const error = asCliError(thrown);
    const again = `to send it: ${commandLine(command, args, { from: path })}`;
    const hint = [error.info.hint, again].filter(Boolean).join("; ");
    throw error.with({ hint }, `${error.message}; the text is kept in ${path}`);
  }
  await host.files.remove(directory);
}

/** Throws usage for what cannot be sent. */
function textIn(bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (!text?.trim()) throw usage("the text is empty or not UTF-8");
  return text;
}

/** Runs the editor by a shell, as it may have arguments. */
async function openEditor(path: string, { host, abortError }: Context): Promise<void> {
  const { env, platform, signal } = host;
  const isWindows = platform.includes("win32");
  const editor = env["VISUAL"] || env["EDITOR"] || (isWindows ? "notepad" : "vi");
  const line = `${editor} ${isWindows ? `"${path}"` : shellQuote(path)}`;
  const exit = await host.spawn(line, [], { shell: true, signal }).exit;
  if (signal.aborted) throw abortError();
  const hint = exit === 127 ? "set VISUAL or EDITOR" : undefined; // not found
  if (exit !== 0) throw usage(`${editor} ended with exit code ${exit}`, hint);
}
