import { fileContent as bytes, wfOperation, path, query, record } from "./operation.ts";
import { content_type, fileParam, userInForm, userInQuery } from "./shared.ts";

/**
 * A file uploaded for runs and messages of one end user: its `id` is their `upload_file_id`.
 * `source_url` is signed and works without a key.
 */
interface UploadedFile {
  readonly id: string;
}

export const uploadFile = wfOperation({
  id: "uploadChatFile",
  command: "wf file upload <file>",
  action: "upload file {file}",
  summary: "Upload a file for runs and messages",
  route: "POST /files/upload",
  params: { file: fileParam, content_type, user: userInForm },
  returns: record<UploadedFile>(
    "name size:bytes extension mime_type created=created_at:time id:id",
    "... created_by source_url preview_url",
  ),
  examples: ["wf file upload welcome.md", "wf file upload welcome.md -o name"],
});

export const previewFile = wfOperation({
  id: "previewChatFile",
  command: "wf file preview <file_id>",
  action: "download file {file_id}",
  summary: "Download an uploaded file that a message has used",
  route: "GET /files/{file_id}/preview",
  params: {
    file_id: path.uuid("File ID from the upload"),
    as_attachment: query.flag("Request a download with the file's name", {
      serverDefault: "false",
    }),
    user: userInQuery,
  },
  returns: bytes,
  examples: [
    "wf --app chat file preview $FILE --output-file welcome.md",
    "wf --app chat file preview $FILE --as-attachment > welcome.md",
  ],
});
