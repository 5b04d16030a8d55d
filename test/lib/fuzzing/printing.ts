/** Printing of responses: nothing controls a terminal, and a pipe gets the data unchanged. */
import { parse as parseYaml } from "yaml";
import { isObject } from "../../../src/lib/json.ts";
import { serverEvent } from "../../../src/lib/server-event.ts";
import { operations } from "../../../src/operations/index.ts";
import { events } from "../../../src/operations/operation.ts";
import type { Returns } from "../../../src/operations/operation.ts";
import { colorsFor, widthOf } from "../../../src/output/display-width.ts";
import { RunView } from "../../../src/output/live/run-view.ts";
import { checkStyle } from "../../../src/output/print/print.ts";
import { clockFor, formats, timesFor } from "../../../src/output/style.ts";
import { plain, printed } from "../printed.ts";
import { randomOf, textFrom } from "./fuzz.ts";
import type { Target } from "./fuzz.ts";
import { areEqual, isSafe, readOr } from "./holds.ts";

const columns = 40;

const viewStyle = {
  colors: await colorsFor(false),
  clock: clockFor(plain, true),
  times: timesFor(plain, true),
  now: plain.now,
  columns,
  unicode: true,
  past: false,
  headers: true,
  accessible: false,
  human: true,
  keepsAll: false,
};

/** Pieces of JSON: fields that columns read, with unexpected values. */
const pieces = [
  ['{"id":', '"name":', '"created_at":', '"data":', '"title":', '"status":', '"error":', '"text":'],
  [
    '"event":"node_started",',
    '"event":"workflow_finished",',
    '"event":"text_chunk",',
    '"outputs":',
  ],
  [
    "{",
    "}",
    "[",
    "]",
    ",",
    "1780000000",
    "-1e300",
    "1e999",
    "null",
    "true",
    '"',
    '"x"',
    '"\\u001b[2J"',
  ],
  [
    '"\\u202e\\u0007"',
    '"line\\nline"',
    '"\\r"',
    '{"toString":1}',
    '"👩‍🔬漢字"',
    '"\\ud800"',
    "{}",
    "[]",
  ],
  ['"__proto__":', '"a|b"', '"\\t\\\\"', '"=cmd()"', '"#x: y"'],
].flat();

/** The parsed JSON, or the text if it is not JSON. */
function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { id: text, name: text, data: [text], [text.slice(0, 40)]: text };
  }
}

const answers: readonly Returns<never>[] = operations
  .map(({ returns }) => returns as Returns<never>)
  .filter(({ kind }) => ["record", "list", "page", "cursor"].includes(kind));

const rows: Target<string> = {
  name: "responses in every format",
  make: (random) => textFrom(random, pieces),
  async holds(text) {
    const { pick } = randomOf(text.length + text.charCodeAt(0) * 31);
    const returns = pick(answers);
    const value = valueIn(text);
    const values = returns.kind === "record" ? [value] : [value, { id: "1" }];
    const format = pick([undefined, ...formats]);
    const style = {
      format,
      color: false,
      ...pick([{}, { sort: "name" }, { columns: ["id", "a.b"] }]),
    };
    const shown = await readOr(["usage"], () =>
      printed(returns, values, style, { terminal: columns }),
    );
    if (shown !== undefined) isSafe(shown.replace(/\r\n|\t/g, "\n"));
    // Tables in files contain complete values; a terminal wraps them.
    const isGrid = returns.kind !== "record" && (format === undefined || format === "grid");
    if (shown !== undefined && isGrid) isNarrow(shown);
    const piped = await printed(returns, values, { ...style, columns: undefined } as never);
    const all = returns.kind === "record" ? value : values;
    if (format === "json" && !("sort" in style)) areEqual(JSON.parse(piped), all);
    if (format === "yaml" && !("sort" in style)) areEqual(parseYaml(piped), all);
  },
};

const live: Target<string> = {
  name: "events as they come",
  make: (random) => textFrom(random, pieces),
  async holds(text) {
    const value = valueIn(text);
    const batch = (Array.isArray(value) ? value : [value])
      .filter(isObject)
      .map((data) => serverEvent(data));
    for (const format of [undefined, "jsonl", "name", "wide"] as const) {
      const style = { ...plain, format };
      isSafe(await printed(events as never, [batch, batch], style, { terminal: columns }));
    }
    const view = new RunView(viewStyle);
    for (const event of batch) view.add(event);
    isSafe(view.takeFinal());
    const drawn = view.liveLines(columns - 1, 10).join("\n");
    isSafe(drawn);
    isNarrow(drawn);
    const lines = await printed(events as never, [batch], { format: "jsonl" });
    areEqual(lines, batch.map(({ raw }) => `${raw}\n`).join(""));
  },
};

const someRow = { id: "1", name: "x", data: [{ a: { b: 1 } }], __proto__x: 2 };

const paths: Target<string> = {
  name: "paths of --columns and --sort",
  make: (random) =>
    textFrom(random, [
      "id",
      "name",
      "a.b",
      "data.0.a",
      ".",
      ",",
      "__proto__",
      "length",
      "toString",
      "9",
    ]),
  async holds(text) {
    const { pick } = randomOf(text.length);
    const returns = pick(answers);
    const style = { ...plain, columns: text.split(","), sort: text, format: pick(formats) };
    if (
      (await readOr(["usage"], async () => (await checkStyle(returns, style), true))) === undefined
    )
      return;
    isSafe(
      (await printed(returns, [someRow], style, { terminal: columns })).replace(/\r\n|\t/g, "\n"),
    );
  },
};

function isNarrow(text: string): void {
  for (const line of text.split("\n")) {
    if (widthOf(line) > columns) throw new Error(`${widthOf(line)} columns: ${line.slice(0, 200)}`);
  }
}

export const printing: readonly Target<string>[] = [rows, live, paths];
