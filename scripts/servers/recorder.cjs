// Loaded before a program: writes its exchanges with the server, in the format of test/recordings, to the file of
// RECORD_TO at the exit. It listens to undici: a proxy would need the keys, which are only sent to the address that
// they are stored with. No key is written.
const { channel } = require("node:diagnostics_channel");
const { writeFileSync } = require("node:fs");

/** Headers that are recorded. */
const KEPT = ["Content-Type", "Content-Length", "X-Version"];
const exchanges = new Map();
const secondsSince = (start) => Math.round(performance.now() - start) / 1000;

/** Calls a function for each message about a request, with what is known of its exchange. */
const on = (name, note) =>
  channel(`undici:request:${name}`).subscribe((message) => {
    const exchange = exchanges.get(message.request);
    if (exchange) note(exchange, message);
  });

channel("undici:request:create").subscribe(({ request }) => {
  const form = request.body?.[Symbol.toStringTag] === "FormData" ? request.body : undefined;
  const start = performance.now();
  exchanges.set(request, { request, start, form, sent: [], received: [], end: "no end" });
});
on("bodyChunkSent", ({ sent }, { chunk }) => sent.push(Buffer.from(chunk)));
on("headers", (exchange, { response }) => Object.assign(exchange, { response }));
on("bodyChunkReceived", ({ received, start }, { chunk }) =>
  received.push([secondsSince(start), Buffer.from(chunk)]),
);
on("trailers", (exchange) => Object.assign(exchange, { end: "closed by server" }));
on("error", (exchange, { error }) => Object.assign(exchange, { end: String(error.message) }));

/** A form as one line: names and values of fields, names and sizes of files. */
function formText(form) {
  const isText = ([, value]) => typeof value === "string";
  const fields = [...form].filter(isText).map(([name, value]) => `('${name}', '${value}')`);
  const files = [...form]
    .filter((part) => !isText(part))
    .map(([name, file]) => `('${name}', '${file.name}', '${file.type}', ${file.size})`);
  return `multipart: fields [${fields.join(", ")}], files [${files.join(", ")}]`;
}

/** The fields of a recording for a body: JSON, text, or the size of other bytes. */
function bodyFields(pieces, mask) {
  const bytes = Buffer.concat(pieces);
  if (bytes.length === 0) return {};
  let text;
  try {
    text = mask(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return { body: JSON.parse(text) };
  } catch {
    return text === undefined ? { body_bytes: bytes.length } : { body_text: text };
  }
}

/** The headers that are recorded, of a list of names and values. */
function keptHeaders(list) {
  const words = list.map(String);
  const names = words.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase());
  const found = KEPT.map((name) => [name, words[names.indexOf(name.toLowerCase()) * 2 + 1]]);
  return Object.fromEntries(found.filter(([name]) => names.includes(name.toLowerCase())));
}

function recorded({ request, start, form, sent, received, response, end }) {
  const { method, path, headers } = request;
  const [, key = "no key"] = /\0Bearer (.*?)\0/.exec(`${headers.join("\0")}\0`) ?? [];
  const mask = (text) => text.replaceAll(key, "KEY");
  const { RECORD_APP: app } = process.env;
  // The newest keys open applications and knowledge bases, so that only the step tells which (server §2).
  const isOfApp = key.startsWith("app-") || (key.startsWith("sk-") && app !== undefined);
  const kind = isOfApp ? `app-${app}` : "dataset-dataset";
  const answered = response ? keptHeaders(response.headers) : {};
  const decoder = new TextDecoder();
  const pieces = received.map(([, piece]) => piece);
  const chunks = received.map(([at, piece]) => [at, mask(decoder.decode(piece, { stream: true }))]);
  const isStream = answered["Content-Type"]?.startsWith("text/event-stream");
  return {
    request: {
      method,
      path: mask(path),
      headers: { Authorization: `Bearer ${kind}-KEY`, ...(!form && keptHeaders(headers)) },
      ...(form ? { body_text: mask(formText(form)) } : bodyFields(sent, mask)),
    },
    response: {
      status: response?.statusCode ?? 0,
      headers: answered,
      ...(isStream ? { chunks, end } : bodyFields(pieces, mask)),
    },
    seconds: secondsSince(start),
  };
}

process.on("exit", () =>
  writeFileSync(process.env.RECORD_TO, JSON.stringify([...exchanges.values()].map(recorded))),
);
