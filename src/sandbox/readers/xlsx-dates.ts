import { walkXml } from "./markup.ts";

/** How the cells of each format show their number. */
export type CellFormats = readonly ("number" | "date")[];

/** The numbers of the built-in formats that show a date or a time. */
const isBuiltInDate = (id: number) => (id >= 14 && id <= 22) || (id >= 45 && id <= 47);

/** Whether a format such as `yyyy-mm-dd` shows a date: letters in quotes or brackets do not count. */
const isDateFormat = (code: string) =>
  /[dmyhs]/i.test(code.replace(/"[^"]*"?|\[[^\]]*\]?|\\./g, ""));

/** The formats of cells in the styles of a workbook. */
export function cellFormats(xml: string): CellFormats {
  const dates = new Set<number>();
  const formats: ("number" | "date")[] = [];
  let inside = false;
  walkXml(xml, {
    open(name, { numFmtId: id, formatCode: code = "" }) {
      if (name === "numFmt" && isDateFormat(code)) dates.add(Number(id));
      if (name === "cellXfs") inside = true;
      if (name !== "xf" || !inside) return;
      const isDate = isBuiltInDate(Number(id)) || dates.has(Number(id));
      formats.push(isDate ? "date" : "number");
    },
    close(name) {
      if (name === "cellXfs") inside = false;
    },
  });
  return formats;
}

/** Day 0 of workbooks; ms since 1970. */
const EPOCH = Date.UTC(1899, 11, 30);
const DAY = 86_400_000;

/** Writes a number of days: 46082 is `2026-03-01`, 46082.5 is `2026-03-01 12:00:00`, 0.5 `12:00:00`. */
export function dateText(days: number): string {
  const date = new Date(EPOCH + Math.round(days * 86_400) * 1000);
  if (Number.isNaN(date.getTime())) return String(days);
  const [day = "", time = ""] = date.toISOString().slice(0, -".000Z".length).split("T");
  if (days >= 0 && days < 1) return time;
  return date.getTime() % DAY === 0 ? day : `${day} ${time}`;
}
