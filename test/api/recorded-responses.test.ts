import { describe, expect, test } from "vitest";
import { bodyReader } from "../../src/api/response.ts";
import { readEvents } from "../../src/api/sse.ts";
import { readPage } from "../../src/api/pages.ts";
import type { Output } from "../../src/host/host.ts";
import { retryOf } from "../../src/operations/operation.ts";
import type { AnyOperation } from "../../src/operations/operation.ts";
import { render } from "../../src/output/print/print.ts";
import type { Style } from "../../src/output/print/print.ts";
import { answered, bodyText, headersOf, rowFor } from "../lib/recordings.ts";

const style = (format: Style["format"]): Style => ({
  format,
  headers: true,
  reverse: false,
  times: "utc",
  color: false,
  accessible: false,
  unicode: true,
  now: () => new Date("2026-11-21T00:00:00Z"),
});

async function printed(
  row: AnyOperation,
  values: unknown[],
  format: Style["format"],
): Promise<string> {
  const pieces: string[] = [];
  const out: Output = {
    write: (text) => {
      pieces.push(String(text));
      return Promise.resolve();
    },
    isTTY: false,
    terminal: undefined,
    columns: Infinity,
    closed: false,
  };
  async function* source() {
    yield* values;
  }
  await render(row.returns, source(), style(format), out);
  return pieces.join("");
}

async function* bytesOf(text: string, size = 7): AsyncGenerator<Uint8Array> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

const events = { kind: "events" } as const;

/** Responses with 200 to writes that had no effect. */
const nothingDone = new Set(["older-1.12.1.json: rename unknown metadata field"]);

/** Each response is printed in a third of them. */
const formats = ["grid", "wide", "tsv", "csv", "md", "yaml", "jsonl"] as const;

describe.each(answered.map((exchange, index) => [exchange.name, exchange, index] as const))(
  "%s",
  (_name, exchange, index) => {
    const operation = rowFor(exchange);
    const text = bodyText(exchange);
    const headers = headersOf(exchange);
    const response = {
      status: exchange.response.status,
      headers,
      body: bytesOf(text),
      alreadyApplied: false,
    };

    test("belongs to an operation, is parsed, and is printed unchanged", async () => {
      expect(operation?.id).toMatch(/\w/);
      const row = operation as AnyOperation; // checked above
      if (headers["content-type"]?.includes("event-stream")) return printsEvents(row);
      const { kind } = row.returns;
      // Tasks check the fields that the row declares under `reads`.
      const acts = "reads" in row.returns || retryOf(row) !== "safe";
      const read = bodyReader(row.returns, acts)(response);
      if (nothingDone.has(_name)) return expect(read).rejects.toThrow("id is null, not an ID");
      // For a message that does not exist, the server sends `null` with 200 as its audio (server §18).
      if (kind === "file" && text.trim() === "null") {
        return expect(read).rejects.toMatchObject({ kind: "remote-failed" });
      }
      const value = await read;
      if (kind === "nothing" || kind === "file") return;
      const lists = kind === "page" || kind === "list" || kind === "cursor";
      const rows = [...(lists ? readPage(row.returns, value).rows : [value])];
      const json = JSON.parse(await printed(row, rows, "json")) as unknown;
      const path = lists && "rows" in row.returns ? row.returns.rows : "";
      const body = JSON.parse(text) as Record<string, unknown>; // lists are wrapped in objects
      expect(json).toEqual(path === "" ? body : body[path]);
      const hasFields = rows.some((each) => Object.keys(each as object).length > 0);
      for (const format of formats.filter((_, at) => at % 3 === index % 3)) {
        const output = await printed(row, rows, format);
        if (hasFields) expect(output).toMatch(/\S/);
      }
    });

    async function printsEvents(row: AnyOperation): Promise<void> {
      const recorded = text
        .split("\n")
        .flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
      const read: unknown[] = [];
      for await (const batch of readEvents(bytesOf(text))) read.push(...batch);
      const jsonl = await printed({ ...row, returns: events }, [read], "jsonl");
      expect(jsonl).toBe(recorded.map((line) => `${line}\n`).join(""));
      const lines = (await printed({ ...row, returns: events }, [read], undefined)).split("\n");
      // Every node and every end of the stream has a line of its own, between lines of text.
      for (const kind of ["node_started", "workflow_finished", "workflow_paused"]) {
        const count = recorded.filter((line) =>
          new RegExp(`"event": ?"${kind}"`).test(line),
        ).length;
        expect(lines.filter((line) => line.includes(` ${kind} `))).toHaveLength(count);
      }
    }
  },
);
