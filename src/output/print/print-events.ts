import type { Output } from "../../host/host.ts";
import type { ServerEvent } from "../../lib/server-event.ts";
import { escapeControls, visible } from "../display-width.ts";
import type { EventPrinter } from "../live/event-printer.ts";
import { each, eachBatch, isDefaultForm, viewStyleOf } from "./printing.ts";
import type { Printing } from "./printing.ts";

type Events = AsyncIterable<readonly ServerEvent[]>;

/**
 * Prints events as they are followed: live, as lines of JSON, or the ID of their run. Undefined for another
 * form, in which their data are printed like rows.
 */
export async function printEvents(
  events: Events,
  form: string,
  printing: Printing,
): Promise<number | undefined> {
  const { style, out } = printing;
  if (isDefaultForm(style)) return printLive(events, printing);
  if (form === "name") return printRunId(events, out);
  if (form !== "jsonl" || style.columns !== undefined) return undefined;
  const escape = out.isTTY ? escapeControls : (json: string) => json;
  return eachBatch(events, out, (batch) => batch.map(({ raw }) => `${escape(raw)}\n`).join(""));
}

async function printLive(events: Events, printing: Printing): Promise<number> {
  const { returns, style, out } = printing;
  const { isRun, linePrinter, redrawingPrinter } = await import("../live/event-printer.ts");
  const viewStyle = await viewStyleOf(printing);
  const terminal = "some" in returns ? undefined : style.terminal;
  let printer: EventPrinter | undefined;
  let count = 0;
  try {
    for await (const batch of events) {
      printer ??=
        terminal && isRun(batch)
          ? redrawingPrinter(terminal, viewStyle, batch[0]?.run !== undefined)
          : linePrinter(viewStyle, out);
      await printer.show(batch);
      count += 1;
      if (out.closed) break;
    }
  } finally {
    await printer?.end();
  }
  return count;
}

/** Prints the ID of the run once, when an event names it; reads the events to their end. */
function printRunId(events: Events, out: Output): Promise<number> {
  let isPrinted = false;
  return each(events, out, ({ fields: { workflow_run_id: id } }) => {
    if (isPrinted || id === undefined) return "";
    isPrinted = true;
    return `${out.isTTY ? visible(id) : id}\n`;
  });
}
