import type { FullScreen } from "./host.ts";

const escape = "\u001b[";
/** Shows the alternate screen without a cursor, and the normal one with it. */
const enter = `${escape}?1049h${escape}?25l`;
const leave = `${escape}?25h${escape}?1049l`;

/** Takes over the terminal of stdin and stdout until `leave`, or the end of the process. */
export async function openFullScreen(): Promise<FullScreen> {
  const { emitKeypressEvents } = await import("node:readline");
  const { stdin, stdout } = process;
  const keys = new KeyQueue();
  const onResize = () => keys.push("resize");
  const onKey = (text: string | undefined, key: { name?: string; ctrl?: boolean }) => {
    // In raw mode the terminal sends no signals.
    if (key.ctrl && key.name === "c") process.emit("SIGINT");
    else if (key.ctrl && key.name === "z" && process.platform !== "win32") suspend();
    else keys.push(key.name ?? text ?? "");
  };
  const takeOver = () => {
    stdin.setRawMode(true);
    stdout.write(enter);
  };
  const giveBack = () => {
    stdin.setRawMode(false);
    stdout.write(leave);
  };
  const suspend = () => {
    giveBack();
    process.once("SIGCONT", () => {
      takeOver();
      keys.push("resize");
    });
    process.kill(process.pid, "SIGTSTP");
  };

  emitKeypressEvents(stdin);
  stdin.on("keypress", onKey);
  stdin.resume();
  stdout.on("resize", onResize);
  process.on("exit", giveBack);
  takeOver();
  return {
    keys,
    leave() {
      if (keys.hasEnded) return;
      keys.end();
      stdin.off("keypress", onKey);
      stdin.pause();
      stdout.off("resize", onResize);
      process.off("exit", giveBack);
      giveBack();
    },
  };
}

/** Keys that were pressed and not read yet. */
class KeyQueue implements AsyncIterable<string> {
  hasEnded = false;
  readonly #keys: string[] = [];
  #wake: () => void = () => {};

  push(key: string): void {
    this.#keys.push(key);
    this.#wake();
  }

  end(): void {
    this.hasEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    while (!this.hasEnded) {
      const key = this.#keys.shift();
      if (key !== undefined) yield key;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
