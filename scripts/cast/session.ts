// Plays a session at a terminal: a shell in the sandbox, in which somebody types.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";
import type { IBufferCell } from "@xterm/headless";
import { parse, stringify } from "yaml";

/** What is typed, and what the screen shows before the next step. */
export interface Step {
  readonly type: string;
  /** Pattern of the end of the screen (default: the prompt of the shell). */
  readonly until?: string;
  /** Seconds that the screen stays (default 1). */
  readonly hold?: number;
}

/** What session.yaml holds. */
export interface Session {
  readonly columns: number;
  readonly rows: number;
  /** Faults of the sandbox, for the delays of a server in another place. */
  readonly faults: readonly string[];
  readonly suite: unknown;
  readonly steps: readonly Step[];
}

/** Characters of one look; `style` has the classes of the drawing, "f2 b" for example. */
export interface Span {
  readonly column: number;
  readonly width: number;
  readonly text: string;
  readonly style: string;
}

/** The terminal at a time: all lines since the start, and how many of them are above the screen. */
export interface Frame {
  /** Milliseconds since the start. */
  readonly at: number;
  readonly top: number;
  readonly lines: readonly (readonly Span[])[];
}

/** Milliseconds between two keys, and those of a hold of one second; 0 plays as fast as it goes. */
export interface Pace {
  readonly key: number;
  readonly second: number;
}

/** The session of the project. */
export const readSession = (root: string): Session =>
  parse(readFileSync(join(root, "scripts", "cast", "session.yaml"), "utf8")) as Session;

/** Plays it with the built programs of the project; returns the frames, of which the last one has all text. */
export async function playSession(root: string, pace: Pace): Promise<Frame[]> {
  const session = readSession(root);
  const place = mkdtempSync(join(tmpdir(), "cast-"));
  try {
    cpSync(join(root, "examples", "handbook"), join(place, "handbook"), { recursive: true });
    writeFileSync(join(place, "suite.yaml"), stringify(session.suite));
    const faults = session.faults.flatMap((fault) => ["--fault", fault]);
    return await play(session, pace, {
      args: [join(root, "bin", "kb.js"), "sandbox", "--ephemeral", ...faults, "--", "sh", "-i"],
      cwd: place,
      env: { PATH: process.env["PATH"] ?? "", HOME: place, ...variables },
    });
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5 }); // the sandbox may still be ending
  }
}

const prompt = "^\\$ ";
const variables = {
  PS1: "\u001b[36m$\u001b[0m ",
  TERM: "xterm-256color",
  LANG: "C.UTF-8",
  TZ: "UTC",
};
/** Live lines change more often than anybody can read. */
const frameTime = 100;

/** Plays the steps in a program of Node.js. Throws if it ends early. */
async function play(
  session: Session,
  pace: Pace,
  { args, ...options }: { args: string[]; cwd: string; env: Record<string, string> },
): Promise<Frame[]> {
  const { columns: cols, rows } = session;
  const term = new xterm.Terminal({ cols, rows, scrollback: 10_000, allowProposedApi: true });
  const child = spawn(process.execPath, args, { cols, rows, ...options });
  const frames: Frame[] = [];
  let changed = () => {};
  let ended = false;
  child.onData((data) => term.write(data, () => changed()));
  child.onExit(() => {
    ended = true;
    changed();
  });
  const start = performance.now();
  const look = (always: boolean) => {
    const at = performance.now() - start;
    if (always || at - (frames.at(-1)?.at ?? -frameTime) >= frameTime)
      frames.push(frameOf(term, at));
  };
  const shows = (pattern: string) =>
    new Promise<void>((resolve, reject) => {
      changed = () => {
        look(false);
        if (new RegExp(`${pattern}$`).test(lineOfCursor(term))) resolve();
        else if (ended) reject(new Error(`ended before ${pattern}: ${lineOfCursor(term)}`));
      };
      changed();
    });
  const wait = (time: number) => new Promise((resolve) => setTimeout(resolve, time));
  try {
    await shows(prompt);
    for (const { type, until = prompt, hold = 1 } of session.steps) {
      for (const key of type) {
        child.write(key);
        await wait(pace.key);
      }
      await shows(type.replace(/[^\w ]/g, "\\$&")); // otherwise the prompt before it would count as the next one
      await wait(pace.key * 5);
      child.write("\r");
      await shows(until);
      look(true);
      await wait(hold * pace.second);
    }
    look(true);
  } finally {
    child.kill("SIGHUP");
    term.dispose();
  }
  return frames;
}

/** The line up to the cursor. */
function lineOfCursor({ buffer: { active } }: Pick<xterm.Terminal, "buffer">): string {
  const line = active.getLine(active.baseY + active.cursorY);
  return line?.translateToString(false, 0, active.cursorX) ?? "";
}

function frameOf({ buffer: { active } }: Pick<xterm.Terminal, "buffer">, at: number): Frame {
  const lines = Array.from({ length: active.length }, (_, index) => spansOf(active, index));
  while (lines.at(-1)?.length === 0) lines.pop();
  return { at, top: active.baseY, lines };
}

/** The spans of a line, without spaces at their ends. */
function spansOf(buffer: xterm.IBuffer, index: number): Span[] {
  const line = buffer.getLine(index);
  const spans: { column: number; width: number; text: string; style: string; cell: number }[] = [];
  for (let column = 0; column < (line?.length ?? 0); column++) {
    const found = line?.getCell(column);
    if (!found || found.getWidth() === 0) continue; // the second column of a wide character
    const [text, cell, style] = [found.getChars() || " ", found.getWidth(), styleOf(found)];
    const last = spans.at(-1);
    // Wide characters apart: their width is not that of two others in every font.
    if (last?.style === style && last.cell === cell) {
      last.text += text;
      last.width += cell;
    } else spans.push({ column, width: cell, text, style, cell });
  }
  return spans.flatMap(({ column, width, text, style }) => {
    const shown = text.trimEnd();
    if (shown === "") return [];
    return { column, width: width - text.length + shown.length, text: shown, style };
  });
}

/** Classes of the drawing: f0–f15 colors, b bold, d dim. Throws for what it does not have. */
function styleOf(cell: IBufferCell): string {
  const color = cell.getFgColor();
  if (cell.isFgRGB() || color > 15 || !cell.isBgDefault() || cell.isInverse() || cell.isUnderline())
    throw new Error(`the drawing does not have the style of ${cell.getChars()}`);
  const names = [!cell.isFgDefault() && `f${color}`, cell.isBold() && "b", cell.isDim() && "d"];
  return names.filter(Boolean).join(" ");
}
