import { cell } from "../../scripts/cast/drawing.ts";

/** The lines that a drawing of a session shows in the end, as text. */
export function castText(svg: string): string[] {
  const lines: string[] = [];
  for (const [, y, spans = ""] of svg.matchAll(/<text class="e" y="([\d.]+)"[^>]*>(.*)<\/text>/g)) {
    let [line, end] = ["", 0];
    for (const [, x, length, text = ""] of spans.matchAll(
      / x="(\S+)" textLength="(\S+)">([^<]*)/g,
    )) {
      const column = Math.round(Number(x) / cell.width);
      line += " ".repeat(column - end) + text;
      end = column + Math.round(Number(length) / cell.width);
    }
    const plain = line.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)));
    lines[Math.round(Number(y) / cell.height - 0.75)] = plain;
  }
  return Array.from(lines, (line) => line ?? "");
}
