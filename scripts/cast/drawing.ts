// The drawing of a session: one SVG whose rows appear and disappear by CSS. It has no script and loads nothing, so that
// it moves in an <img> as well; a viewer without animation shows the end.
import type { Frame, Span } from "./session.ts";

/** Pixels. */
export const cell = { width: 8.4, height: 19, margin: 16 };
/** Milliseconds: longest time without a change while a command works, and the time before it begins again. */
const times = { idle: 1500, end: 500 };

/** Draws the frames of a terminal of so many columns and rows. `title` is read by screen readers. */
export function drawCast(
  frames: readonly Frame[],
  size: { readonly columns: number; readonly rows: number },
  title: string,
): string {
  const timed = withoutWaiting(frames);
  const total = (timed.at(-1)?.at ?? 0) + times.end;
  const keyframes = new Map<string, string>();
  const animated = (name: string, steps: string) => {
    if (!keyframes.has(steps)) keyframes.set(steps, `${name}${keyframes.size}`);
    return keyframes.get(steps) ?? "";
  };
  const percent = (at: number) => `${Number(((100 * at) / total).toFixed(2))}%`;
  const texts = looksOf(timed).map(({ row, from, to, spans }) => {
    const last = to === undefined ? "" : `${percent(to)}{visibility:hidden}`;
    const steps = `0%{visibility:hidden}${percent(from)}{visibility:visible}${last}`;
    const state = to === undefined ? ' class="e"' : "";
    const y = (row + 0.75) * cell.height;
    return `<text${state} y="${y}" style="animation-name:${animated("t", steps)}">${spans.map(tspan).join("")}</text>`;
  });
  const scroll = changesOf(timed.map(({ at, top }) => ({ at, value: top })));
  const moved = (top: number) => `transform:translateY(${-top * cell.height}px)`;
  const steps = scroll.map(({ at, value }) => `${percent(at)}{${moved(value)}}`).join("");
  const scrolling = animated("s", steps);
  const width = Math.ceil(size.columns * cell.width) + 2 * cell.margin;
  const height = size.rows * cell.height + 2 * cell.margin;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style(total)}`,
    `#lines{animation-name:${scrolling};${moved(scroll.at(-1)?.value ?? 0)}}`,
    ...[...keyframes].map(([text, name]) => `@keyframes ${name}{${text}}`),
    "</style>",
    `<rect class="w" width="${width}" height="${height}" rx="8"/>`,
    `<svg x="${cell.margin}" y="${cell.margin}" width="${width - 2 * cell.margin}" height="${height - 2 * cell.margin}"><g id="lines">`,
    ...texts,
    "</g></svg>",
    "</svg>",
    "",
  ].join("\n");
}

/** The frames, begun at 0, without the time in which nothing was to be seen. */
function withoutWaiting(frames: readonly Frame[]): Frame[] {
  let saved = frames[0]?.at ?? 0;
  return frames.map((frame, index) => {
    const before = frames[index - 1]?.at ?? frame.at;
    saved += Math.max(0, frame.at - before - times.idle);
    return { ...frame, at: frame.at - saved };
  });
}

/** How each line looks, and when, ordered by line and time; `to` is undefined for its last look. */
function looksOf(frames: readonly Frame[]) {
  const rows = Math.max(...frames.map(({ lines }) => lines.length));
  const looks = Array.from({ length: rows }, (_, row) => {
    const all = changesOf(frames.map(({ at, lines }) => ({ at, value: lines[row] ?? [] })));
    return all.map(({ at: from, value }, index) => ({
      row,
      from,
      to: all[index + 1]?.at,
      spans: value,
    }));
  });
  return looks.flat().filter(({ spans }) => spans.length > 0);
}

/** The values that differ from the one before. */
function changesOf<T>(values: readonly { readonly at: number; readonly value: T }[]) {
  const text = values.map(({ value }) => JSON.stringify(value));
  return values.filter((_, index) => text[index] !== text[index - 1]);
}

/** Fonts differ in width: `textLength` keeps the columns. */
function tspan({ column, width, text, style: classes }: Span): string {
  const at = Number((column * cell.width).toFixed(1));
  const length = Number((width * cell.width).toFixed(1));
  return `<tspan${classes && ` class="${classes}"`} x="${at}" textLength="${length}">${escaped(text)}</tspan>`;
}

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Colors 1 to 8 of a terminal, bright ones below, for light and for dark windows: contrast of 4.5 or more. */
const colors = {
  light: ["#24292f", "#b3261e", "#116329", "#7d4e00", "#0550ae", "#8250df", "#1b6c76", "#57606a"],
  dark: ["#8b949e", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#c9d1d9"],
};

function style(total: number): string {
  const palette = (names: readonly string[], text: string, window: string, border: string) =>
    `text{fill:${text}}.w{fill:${window};stroke:${border}}` +
    names.map((color, index) => `.f${index},.f${index + 8}{fill:${color}}`).join("");
  return [
    'text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}',
    `text,#lines{animation:${(total / 1000).toFixed(1)}s step-end infinite}`,
    "text{visibility:hidden}.e{visibility:visible}.b{font-weight:bold}.d{opacity:.7}",
    palette(colors.light, "#1f2328", "#ffffff", "#d0d7de"),
    `@media(prefers-color-scheme:dark){${palette(colors.dark, "#e6edf3", "#0d1117", "#30363d")}}`,
    "@media(prefers-reduced-motion:reduce){text,#lines{animation:none}}",
  ].join("\n");
}
