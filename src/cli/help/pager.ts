import type { Host } from "../../host/host.ts";
import { isOn } from "../../lib/env-flag.ts";

/** Writes a page to stdout, through $PAGER if it is taller than the terminal. */
export async function showPage(text: string, host: Host): Promise<void> {
  const rows = host.stdout.terminal?.rows ?? Infinity;
  const isTall = text.split("\n").length > rows;
  if (!isTall || !(await paged(text, host))) await host.stdout.write(text);
}

/** Shows a page in the pager; false if there is none or it fails. */
async function paged(text: string, host: Host): Promise<boolean> {
  const pager = host.env["PAGER"];
  const isPlain = isOn(host.env["KB_ACCESSIBLE"]) || host.env["TERM"] === "dumb";
  if (pager === "" || pager === "cat" || isPlain) return false;
  try {
    const child = pager
      ? // As in git: less quits if the page fits, keeps colors and leaves the text on the screen.
        host.spawn(pager, [], {
          input: text,
          shell: true,
          env: { LESS: host.env["LESS"] ?? "FRX" },
        })
      : host.spawn("less", ["-FRX"], { input: text });
    return (await child.exit) === 0;
  } catch {
    return false;
  }
}
