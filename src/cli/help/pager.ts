import { abortError } from "../../errors.ts";
import type { Child, Host } from "../../host/host.ts";
import { isOn } from "../../lib/env-flag.ts";

/** Writes a page to stdout, through $PAGER if it is taller than the terminal. */
export async function showPage(text: string, host: Host): Promise<void> {
  const rows = host.stdout.terminal?.rows ?? Infinity;
  const isTall = text.split("\n").length > rows;
  if (!isTall || !(await paged(text, host))) await host.stdout.write(text);
}

/**
 * Shows a page in the pager; false if there is none or it fails. A signal ends the pager, which then
 * restores the terminal.
 */
async function paged(text: string, host: Host): Promise<boolean> {
  const pager = host.env["PAGER"];
  const isPlain = isOn(host.env["KB_ACCESSIBLE"]) || host.env["TERM"] === "dumb";
  if (pager === "" || pager === "cat" || isPlain) return false;
  const child = pager ? startedByShell(pager, text, host) : startedLess(text, host);
  const exit = await child.exit.catch(() => undefined);
  if (host.signal.aborted) throw abortError(host.signal);
  return exit === 0;
}

// As in git: less quits if the page fits, keeps colors and leaves the text on the screen.
const lessFlags = "FRX";

const startedLess = (input: string, { spawn, signal }: Host): Child =>
  spawn("less", [`-${lessFlags}`], { input, signal });

function startedByShell(pager: string, input: string, host: Host): Child {
  const { spawn, env, platform, signal } = host;
  const options = { input, shell: true, env: { LESS: env["LESS"] ?? lessFlags } };
  // `exec`: the signal reaches the pager and not only the shell. Several programs keep the terminal
  // until the user ends them, as in git.
  const isOneProgram = !platform.includes("win32") && !/[|&;<>()`\n]|^\s*\w+=/.test(pager);
  if (!isOneProgram) return spawn(pager, [], options);
  return spawn(`exec ${pager}`, [], { ...options, signal });
}
