import { valueAt } from "../../lib/json.ts";
import type { Output } from "../../host/host.ts";
import { firstTogether, rowPrinter } from "../table/grid.ts";
import type { TableField, TableStyle } from "../table/table.ts";
import type { LiveLines, TerminalWriter } from "./terminal-writer.ts";

/** Rows of a list that are printed again when they change. */
export interface Reappearing {
  /** Path of the ID of a row. */
  readonly idPath: string;
  isOpen(row: unknown): boolean;
}

/**
 * Prints rows as aligned columns on a terminal: a row that appears again is redrawn below the others
 * until its last appearance. Resolves to the number of rows.
 */
export async function printReappearing(
  rows: AsyncIterable<readonly unknown[]>,
  { idPath, isOpen, fields }: Reappearing & { readonly fields: readonly TableField[] },
  style: TableStyle,
  terminal: TerminalWriter,
): Promise<number> {
  const out: Output = terminal.host.stdout;
  const lines = new OpenRows();
  const redrawn = terminal.redraw(lines, style);
  // A column that is empty at first may have a text later.
  const columns = fields.map(({ kind, ...field }) =>
    kind === undefined || kind === "sparse" ? field : { ...field, kind },
  );
  let linesOf: ReturnType<typeof rowPrinter> | undefined;
  let count = 0;
  try {
    for await (const { group } of firstTogether(rows)) {
      linesOf ??= rowPrinter(group, columns, style, out);
      // Before the rows of the first group is the head.
      const texts = (await linesOf(group)).split(/(?<=\n)/);
      lines.print(texts.splice(0, texts.length - group.length).join(""));
      for (const [index, row] of group.entries()) {
        const id = String(valueAt(row, idPath));
        if (isOpen(row)) lines.open(id, texts[index] ?? "");
        else lines.close(id, texts[index] ?? "");
      }
      count += group.length;
      redrawn.check();
      if (out.closed) break;
    }
  } finally {
    lines.end();
    await redrawn.end();
  }
  return count;
}

/** Rows that are redrawn; the line of an older one stays, and another one shows its end. */
const MAX_OPEN = 8;

/** The lines of rows: those that are final, and open ones by ID. */
class OpenRows implements LiveLines {
  readonly #open = new Map<string, string>();
  #final = "";

  print(text: string): void {
    this.#final += text;
  }

  open(id: string, line: string): void {
    this.#open.set(id, line);
    const [oldest] = this.#open;
    if (this.#open.size > MAX_OPEN && oldest) this.close(...oldest);
  }

  close(id: string, line: string): void {
    this.#open.delete(id);
    this.#final += line;
  }

  /** Makes all lines final. */
  end(): void {
    this.#final += [...this.#open.values()].join("");
    this.#open.clear();
  }

  takeFinal(): string {
    const lines = this.#final;
    this.#final = "";
    return lines;
  }

  /** The newest open rows. */
  liveLines(_columns: number, rows: number): readonly string[] {
    return [...this.#open.values()].slice(-rows).map((line) => line.trimEnd());
  }
}
