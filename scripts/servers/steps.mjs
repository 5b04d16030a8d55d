// The steps of steps.md, and the functions that its placeholders name.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../prepare.mjs";

const page = readFileSync(join(root, "scripts", "servers", "steps.md"), "utf8");

/** The rows of the table below each heading of the second level, as lists of cells. */
const tables = page.split("\n## ").flatMap((part) => {
  const [title, ...lines] = part.split("\n");
  const rows = lines.filter((line) => line.startsWith("| ")).slice(1);
  const cells = rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return title.startsWith("#") ? [] : [{ title, cells }];
});
const cellsOf = (title) => tables.find((table) => table.title === title).cells;
const listed = (cell) => cell.split(", ").filter((word) => word !== "");

/** `a=b c` → { a: "b", c: "" } */
const pairsIn = (cell) =>
  Object.fromEntries(cell.split(" ").flatMap((word) => (word === "" ? [] : [word.split("=")])));

/** Steps by what they are played with: knowledge, pipeline, or applications, of some modes or of all. */
export const scenes = tables
  .filter(({ title }) => /^(knowledge|pipeline|application)/.test(title))
  .map(({ title, cells }) => ({
    subject: title.split(":")[0],
    modes: title.split(": ")[1]?.split(", "),
    steps: cells.map(([operation, line, learns, options]) => {
      const { exits = "", ...others } = pairsIn(options);
      const codes = [0, ...exits.split(",").filter(Boolean).map(Number)];
      return { operation, line, learns: pairsIn(learns), exits: codes, ...others };
    }),
  }));

/** Why a step is not played, by the name of the reason or of a placeholder. */
export const reasons = Object.fromEntries(
  cellsOf("Reasons").flatMap(([names, reason]) => listed(names).map((name) => [name, reason])),
);

/** Commands that send requests, and that no step plays. */
export const unplayed = cellsOf("Not played").flatMap(([commands]) => listed(commands));

export const refusals = cellsOf("Refusals").map(
  ([section, ids, statuses, texts, version, modes]) => {
    const [operations, status] = [listed(ids), listed(statuses).map(Number)];
    return { section, operations, status, texts: listed(texts), version, modes: listed(modes) };
  },
);

/** The names of the placeholders that a step needs. */
export const namesNeeded = ({ line, needs }) => [
  ...(needs === undefined ? [] : [needs]),
  ...[...line.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
];

/** Inputs by the form of an application; undefined if one of them has to be a file. */
function inputs({ user_input_form: form = [] }) {
  const fields = form.flatMap(Object.entries).filter(([, { required }]) => required);
  if (fields.some(([control]) => control.startsWith("file"))) return undefined;
  const valueOf = (control, { options }) =>
    ({ number: 1, checkbox: true, select: options?.[0], json_object: {} })[control] ?? "hello";
  return JSON.stringify(
    Object.fromEntries(fields.map(([control, field]) => [field.variable, valueOf(control, field)])),
  );
}

/** The inputs of a form for human input. */
function answers({ inputs: fields }) {
  const valueOf = ({ option_source: source }) => source?.value?.[0] ?? "fine";
  return JSON.stringify(
    Object.fromEntries(fields.map((field) => [field.output_variable_name, valueOf(field)])),
  );
}

const image = ({ id }) => ({ type: "image", transfer_method: "local_file", upload_file_id: id });
const pipelineFile = ({ id, extension, ...file }) => {
  const ids = { reference: id, related_id: id };
  return { ...file, ...ids, type: extension, extension, url: "", transfer_method: "local_file" };
};
const nodeOf = (type) => (plugins) =>
  plugins.find(({ datasource_type }) => datasource_type === type)?.node_id;

/** Functions of a response, by the placeholder that each gives; undefined if there is none. */
export const learners = {
  inputs,
  answers,
  chatflow: ({ mode }) => (mode === "advanced-chat" ? mode : undefined),
  takesImages: ({ file_upload: { enabled, image: images } = {} }) =>
    enabled || images?.enabled || undefined,
  repliesOff: ({ annotation_reply: reply }) => (reply?.enabled ? undefined : true),
  spoken: () => true,
  export: () => true,
  suite: ({ data }) =>
    data?.some(({ workflow_run: run }) => run?.status === "succeeded") || undefined,
  images: (file) => JSON.stringify([image(file)]),
  pipelineFiles: (file) => JSON.stringify([pipelineFile(file)]),
  fileNode: nodeOf("local_file"),
  webNode: nodeOf("website_crawl"),
  value: ({ data }) => (data[0] === undefined ? undefined : JSON.stringify(data[0].value)),
};
