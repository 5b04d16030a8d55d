import {
  createByFile,
  createByText,
  downloadLink,
  downloadZip,
  enable,
  indexingStatus,
  list,
  remove,
  replace,
  show,
  updateByFile,
  updateByText,
} from "../operations/documents.ts";
import {
  type DetailPart,
  displayStatus,
  displayStatusOf,
  documentAnswer,
  documentDetail,
  indexingAnswer,
} from "./document-answers.ts";
import { type Call, type Handler, on, Refused, type Reply, type UploadedFile } from "./handler.ts";
import {
  datasetOf,
  type DatasetRow,
  type DocumentRow,
  findDocument,
  documentOf,
  type KnowledgeRoom,
  latestRule,
  removeDocument,
  removeSegments,
} from "./knowledge-store.ts";
import { pageFields, pageOf } from "./pages.ts";
import { automatic, processRuleFrom } from "./process-rules.ts";
import { invalidParam, notFound, notFoundAt, unforeseen } from "./refusals.ts";
import { atLeast } from "./router.ts";
import { invalid } from "./validation.ts";
import { addText, addUpload, type Content, fileOf, linkOf } from "./knowledge-files.ts";
import { distinctNames, zipOf } from "./zip.ts";

/** Documents: lists, creation by text and file, changes, state and download. */
export function documentHandlers(room: KnowledgeRoom): readonly Handler[] {
  const { store } = room;

  const inBatch = (dataset: DatasetRow, id: string): Reply => {
    const document = documentOf(room, { dataset_id: dataset.id, document_id: id });
    const answer = documentAnswer(room, datasetOf(room, dataset.id), document);
    return { json: { document: answer, batch: document.batch } };
  };

  return [
    on(list, ({ dataset_id, keyword, status }, call) => {
      const dataset = datasetOf(room, dataset_id);
      const page = pageOf(call.query, "DocumentListQuery");
      const wanted = shownStatuses.get(status ?? "") ?? null;
      // `%` and `_` of the keyword work as wildcards on the server, too (server §5).
      const where = `dataset_id = ?1 AND (?2 IS NULL OR name LIKE '%' || ?2 || '%')
        AND (?3 IS NULL OR ${displayStatus} = ?3)`;
      const values = [dataset_id, keyword ?? null, wanted] as const;
      const rows = store.all<DocumentRow>(
        `SELECT * FROM documents WHERE ${where}
         ORDER BY created_at / 1000 DESC, position DESC LIMIT ?4 OFFSET ?5`,
        ...values,
        page.rows,
        page.offset,
      );
      const counted = store.get<{ readonly total: number }>(
        `SELECT count(*) AS total FROM documents WHERE ${where}`,
        ...values,
      );
      const data = rows.map((document) => documentAnswer(room, dataset, document));
      return { json: { data, ...pageFields(page, rows.length, counted?.total ?? 0) } };
    }),

    on(show, (input, call) => {
      const document = documentOf(room, input);
      const part = call.query.get("metadata") ?? "all";
      if (!isPart(part)) {
        throw new Refused(400, "invalid_metadata", `Invalid metadata value: ${part}`);
      }
      return { json: documentDetail(room, datasetOf(room, input.dataset_id), document, part) };
    }),

    on(createByText, (input, call) => {
      const dataset = datasetOf(room, input.dataset_id);
      if (input.indexing_technique === undefined) throw techniqueMissing(dataset, call);
      const content = () => addText(room, input.name, input.text);
      return inBatch(dataset, created(room, dataset, content, input, automatic));
    }),

    on(createByFile, (input, call) => {
      const dataset = datasetOf(room, input.dataset_id);
      const file = onlyFile(call);
      if (!file) throw noFile();
      // On this route a refused file is told without a word (server §3).
      const content = () => addUpload(room, file, () => invalidParam(""));
      const doc_form = input.doc_form ?? dataset.doc_form ?? "text_model";
      return inBatch(dataset, created(room, dataset, content, { ...input, doc_form }, undefined));
    }),

    on(updateByText, (input, call) => {
      if (input.text && input.name === undefined) {
        throw invalid("DocumentTextUpdate", {
          field: "",
          reason: "Value error, name is required when text is provided",
          type: "value_error",
          value: call.body,
        });
      }
      const { name = "" } = input;
      const content = input.text ? () => addText(room, name, input.text ?? "") : undefined;
      return inBatch(...updated(room, input, content));
    }),

    on(replace, (input, call) => inBatch(...updatedByFile(room, input, call))),
    on(updateByFile, (input, call) => inBatch(...updatedByFile(room, input, call))),

    on(remove, (input) => {
      const document = documentOf(room, input, () => notFound("Document Not Exists."));
      if (document.archived === 1) {
        const text = "The archived document is not editable.";
        throw new Refused(403, "archived_document_immutable", text);
      }
      removeDocument(room, document);
      return { status: 204 };
    }),

    on(enable, ({ dataset_id, document_ids }, call) => {
      const action = call.path["action"] ?? "";
      const change = statusChanges[action];
      if (!change) {
        const words = Object.keys(statusChanges).map((word) => `'${word}'`);
        const text = `Invalid action: ${action}. Must be one of [${words.join(", ")}]`;
        throw new Refused(400, "invalid_action", text);
      }
      for (const id of document_ids) {
        const document = findDocument(room, dataset_id, id);
        if (!document) continue;
        if (document.indexing_status !== "completed" && action !== "enable") {
          const text = `Document: ${document.name} is not completed.`;
          throw new Refused(400, "invalid_action", text);
        }
        store.run(`UPDATE documents SET ${change}, updated_at = ?1 WHERE id = ?2`, room.now(), id);
      }
      return { json: { result: "success" } };
    }),

    on(indexingStatus, ({ dataset_id, batch }) => {
      const documents = store.all<DocumentRow>(
        "SELECT * FROM documents WHERE batch = ? AND dataset_id = ? ORDER BY key",
        batch,
        dataset_id,
      );
      if (documents.length === 0) throw notFound("Documents not found.");
      return { json: { data: documents.map((document) => indexingAnswer(room, document)) } };
    }),

    on(downloadLink, (input, call) => {
      const document = documentOf(room, input);
      return { json: { url: linkOf(room, document.file_id, call.origin) } };
    }),

    on(downloadZip, ({ dataset_id, document_ids }) => {
      const path = `/v1/datasets/${dataset_id}/documents/download-zip`;
      const missing = () =>
        notFoundAt("Document not found.", path, [
          "/v1/datasets/<uuid:dataset_id>/documents/download-zip",
        ]);
      const documents = document_ids.map((document_id) =>
        documentOf(room, { dataset_id, document_id }, missing),
      );
      const names = distinctNames(documents.map(({ name }) => name));
      const now = new Date(room.now());
      const bytes = zipOf(
        documents.map(({ file_id }, index) => ({
          name: names[index] ?? "",
          bytes: fileOf(room, file_id)?.bytes ?? new Uint8Array(),
        })),
        now,
      );
      const zip = `${room.newId().replaceAll("-", "")}.zip`;
      return {
        bytes,
        headers: {
          "Content-Disposition": `attachment; filename=${zip}`,
          "Content-Type": "application/zip",
          "Content-Length": String(bytes.byteLength),
          "Last-Modified": now.toUTCString(),
          "Cache-Control": "no-cache",
        },
      };
    }),
  ];
}

/** Words of the list's filter → what is shown; other words do not filter (server §7). */
const shownStatuses = new Map([
  ...["queuing", "indexing", "paused", "error", "available", "disabled", "archived"].map(
    (word) => [word, word] as const,
  ),
  ["active", "available"],
  ["enabled", "available"],
]);

/** What each action sets; ?1 is the time. */
const statusChanges: Readonly<Record<string, string>> = {
  enable: "enabled = 1, disabled_at = NULL",
  disable: "disabled_at = iif(enabled, ?1, disabled_at), enabled = 0",
  archive: "archived = 1",
  un_archive: "archived = 0",
};

const isPart = (text: string): text is DetailPart => ["all", "only", "without"].includes(text);

const noFile = () => new Refused(400, "no_file_uploaded", "Please upload your file.");

/** The one file of a form; a part without a file name is none. */
function onlyFile({ files }: Call): UploadedFile | undefined {
  if (files.size > 1) throw new Refused(400, "too_many_files", "Only one file is allowed.");
  const file = files.get("file");
  return file?.name ? file : undefined;
}

/** The server has three ways to miss a technique: by its age, and by what the base has. */
function techniqueMissing(dataset: DatasetRow, call: Call): Refused {
  if (!atLeast(call.version, "1.14.1")) return unforeseen();
  if (dataset.indexing_technique === null) return invalidParam("indexing_technique is required.");
  return invalid("KnowledgeConfig", {
    field: "indexing_technique",
    reason: "Field required",
    type: "missing",
    value: call.body,
  });
}

/** What both ways of creation and change may say about the processing. */
interface Processing {
  readonly indexing_technique?: string | undefined;
  readonly doc_form?: string | undefined;
  readonly doc_language?: string | undefined;
  readonly process_rule?: unknown;
  readonly retrieval_model?: unknown;
  readonly duplicate?: boolean | undefined;
  readonly original_document_id?: string | undefined;
}

/**
 * Makes a document of what `stored` gives, or replaces the enabled one of the same name, and gives its
 * id. `otherwise` is the rule where neither the request nor the knowledge base has one.
 */
function created(
  room: KnowledgeRoom,
  dataset: DatasetRow,
  stored: () => Content,
  processing: Processing,
  otherwise: typeof automatic | undefined,
): string {
  const { store } = room;
  const doc_form = checkedForm(dataset, processing);
  settleDataset(room, dataset, processing, doc_form);
  const rule_id = ruleFor(room, dataset, processing.process_rule, otherwise);
  const content = stored();
  const { original_document_id: original } = processing;
  if (original) {
    documentOf(room, { dataset_id: dataset.id, document_id: original }, () =>
      notFound("Document not found"),
    );
    requeue(room, original, { content, rule_id, doc_form, created_from: "web" });
    return original;
  }
  const batch = newBatch(room);
  const name = [...content.name].slice(0, 200).join("");
  const same =
    processing.duplicate === false
      ? undefined
      : store.get<Pick<DocumentRow, "id">>(
          "SELECT id FROM documents WHERE dataset_id = ? AND name = ? AND enabled ORDER BY key",
          dataset.id,
          name,
        );
  if (same) {
    requeue(room, same.id, { content, rule_id, doc_form, created_from: "api", batch });
    return same.id;
  }
  const id = room.newId();
  const now = room.now();
  store.run(
    `INSERT INTO documents (id, dataset_id, position, batch, name, file_id, rule_id, doc_form,
       doc_language, created_from, created_at, updated_at, indexing_status, queued_at,
       enabled, archived, metadata)
     SELECT ?, ?2, ifnull(max(position), 0) + 1, ?, ?, ?, ?, ?, ?, 'api', ?, ?, 'waiting', ?,
       1, 0, '{}' FROM documents WHERE dataset_id = ?2`,
    id,
    dataset.id,
    batch,
    name,
    content.file_id,
    rule_id,
    doc_form,
    processing.doc_language ?? "English",
    now,
    now,
    now,
  );
  return id;
}

/** Changes a document that is available; gives what its answer needs. */
function updated(
  room: KnowledgeRoom,
  input: Processing & {
    readonly dataset_id: string;
    readonly document_id: string;
    readonly name?: string | undefined;
  },
  content: (() => Content) | undefined,
): [dataset: DatasetRow, id: string] {
  const dataset = datasetOf(room, input.dataset_id);
  if (!content && !input.process_rule) {
    throw invalidParam("Data source or Process rule is required");
  }
  const doc_form = checkedForm(dataset, input);
  const document = documentOf(room, input, () => notFound("Document not found"));
  if (displayStatusOf(room, document) !== "available") {
    throw invalidParam("Document is not available");
  }
  const rule_id = ruleFor(room, dataset, input.process_rule, automatic);
  requeue(room, document.id, {
    content: content?.(),
    name: input.name,
    rule_id,
    doc_form,
    created_from: "web",
  });
  return [dataset, document.id];
}

function updatedByFile(
  room: KnowledgeRoom,
  input: Processing & { readonly dataset_id: string; readonly document_id: string },
  call: Call,
): [dataset: DatasetRow, id: string] {
  const file = onlyFile(call);
  const refused = (reason: "size" | "kind") =>
    reason === "size"
      ? new Refused(413, "file_too_large", "")
      : new Refused(415, "unsupported_file_type", "File type not allowed.");
  return updated(room, input, file && (() => addUpload(room, file, refused)));
}

/** The form of a knowledge base's documents is one for all (server §9). */
function checkedForm(dataset: DatasetRow, { doc_form = "text_model" }: Processing): string {
  if (dataset.doc_form !== null && dataset.doc_form !== doc_form) {
    throw invalidParam("doc_form is different from the dataset doc_form.");
  }
  return doc_form;
}

/** The first document decides what its knowledge base had left open. */
function settleDataset(
  { store }: KnowledgeRoom,
  dataset: DatasetRow,
  { indexing_technique, retrieval_model }: Processing,
  doc_form: string,
): void {
  if (dataset.indexing_technique === null) {
    if (indexing_technique === "high_quality") {
      throw invalidParam("Default model not found for text-embedding");
    }
    store.run(
      "UPDATE datasets SET indexing_technique = ?, retrieval_model = ifnull(?, retrieval_model) WHERE id = ?",
      indexing_technique ?? null,
      retrieval_model === undefined ? null : JSON.stringify(retrieval_model),
      dataset.id,
    );
  }
  store.run("UPDATE datasets SET doc_form = ? WHERE id = ?", doc_form, dataset.id);
}

/** Stores the rule that was sent, or takes the knowledge base's newest; gives its id. */
function ruleFor(
  room: KnowledgeRoom,
  dataset: DatasetRow,
  sent: unknown,
  otherwise: typeof automatic | undefined,
): string {
  const latest = latestRule(room, dataset.id);
  if (!sent && latest) return latest.id;
  const rule = sent ? processRuleFrom(sent) : otherwise;
  if (!rule) throw invalidParam("process_rule is required.");
  const id = room.newId();
  room.store.run(
    "INSERT INTO process_rules (id, dataset_id, rule) VALUES (?, ?, ?)",
    id,
    dataset.id,
    JSON.stringify(rule),
  );
  return id;
}

/** Sends a document through the indexing again; its counts stay until that is done. */
function requeue(
  room: KnowledgeRoom,
  id: string,
  change: {
    readonly content: Content | undefined;
    readonly name?: string | undefined;
    readonly rule_id: string;
    readonly doc_form: string;
    readonly created_from: string;
    /** Only a create has a new one (server §9). */
    readonly batch?: string;
  },
): void {
  const { store } = room;
  const now = room.now();
  removeSegments(room, "document_id", id);
  if (change.content) {
    store.run("DELETE FROM files WHERE id = (SELECT file_id FROM documents WHERE id = ?)", id);
  }
  store.run(
    `UPDATE documents SET name = ifnull(?, name), file_id = ifnull(?, file_id), rule_id = ?,
       doc_form = ?, created_from = ?, batch = ifnull(?, batch), indexing_status = 'waiting',
       queued_at = ?, updated_at = ?, completed_at = NULL, stopped_at = NULL WHERE id = ?`,
    change.content?.name ?? change.name ?? null,
    change.content?.file_id ?? null,
    change.rule_id,
    change.doc_form,
    change.created_from,
    change.batch ?? null,
    now,
    now,
    id,
  );
}

/** Fourteen digits of time and six of chance. */
function newBatch(room: KnowledgeRoom): string {
  const time = new Date(room.now()).toISOString().replace(/\D/g, "").slice(0, 14);
  return time + String(100_000 + Math.floor(room.random() * 900_000));
}
