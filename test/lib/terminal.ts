import xterm from "@xterm/headless";

/** A terminal emulator: what a user would see of the output. */
export interface Terminal {
  write(text: string): void;
  resize(columns: number, rows: number): void;
  /** All lines above the cursor, including the scrollback; wrapped lines are joined. */
  lines(): Promise<string[]>;
  /** The rows on the screen. */
  screen(): Promise<string[]>;
}

/** An empty terminal. With `cooked`, a line feed implies a carriage return. */
export function terminalOf(columns: number, rows: number, cooked = true): Terminal {
  const term = new xterm.Terminal({
    cols: columns,
    rows,
    scrollback: 10_000,
    convertEol: cooked,
    allowProposedApi: true,
  });
  const written = () => new Promise<void>((resolve) => term.write("", resolve));
  const row = (index: number) => term.buffer.active.getLine(index);
  return {
    write: (text) => term.write(text),
    resize: (width, height) => term.resize(width, height),
    async lines() {
      await written();
      const { baseY, cursorY } = term.buffer.active;
      const lines: string[] = [];
      for (let index = 0; index < baseY + cursorY; index++) {
        const whole = !row(index + 1)?.isWrapped;
        const text = row(index)?.translateToString(whole) ?? "";
        if (row(index)?.isWrapped) lines.push((lines.pop() ?? "") + text);
        else lines.push(text);
      }
      return lines;
    },
    async screen() {
      await written();
      const { viewportY } = term.buffer.active;
      return Array.from({ length: term.rows }, (_, index) =>
        (row(viewportY + index)?.translateToString(true) ?? "").trimEnd(),
      );
    },
  };
}
