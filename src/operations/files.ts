import {
  fileContent as bytes,
  wfOperation,
  path,
  query,
  record,
  body,
  form,
  audioFile,
} from "./operation.ts";
import {
  content_type,
  fileParam,
  userInForm,
  userInQuery,
  required,
  userInBody,
} from "./shared.ts";

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
  meant: ["download"],
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

/** What servers answer for a feature that an application has not enabled. */
const notEnabled = [
  {
    message: "is not enabled",
    hint: "the web console enables it for an application: `wf open`",
  },
] as const;

export const transcribeAudio = wfOperation({
  id: "audioToText",
  command: "wf audio transcribe <file>",
  action: "transcribe file {file}",
  meant: ["stt", "audio-to-text"],
  summary: "Convert speech to text (uses a paid model)",
  knownErrors: notEnabled,
  route: "POST /audio-to-text",
  params: {
    file: form.file("Audio file, - for stdin (mp3, m4a, wav, amr, mpga)", {
      required,
    }),
    content_type,
    user: userInForm,
  },
  returns: record<{}>("text"),
  retry: "safe",
  idleTimeout: 1260,
  examples: ["wf audio transcribe question.mp3", "wf audio transcribe question.mp3 --jq .text"],
});

export const speakText = wfOperation({
  id: "textToAudioChat",
  command: "wf audio speak",
  action: "convert text to speech",
  meant: ["tts", "text-to-audio"],
  summary: "Convert text to speech (uses a paid model)",
  knownErrors: notEnabled,
  route: "POST /text-to-audio",
  anyOf: ["text", "message_id"],
  params: {
    message_id: body.uuid("Message to speak instead of --text, or last", { listed: "message" }),
    text: body.text("Text to speak", { orFile: true }),
    voice: body.text("Voice (default: the one of the application)"),
    streaming: body.flag("Stream the audio while it is generated"),
    user: userInBody,
  },
  returns: audioFile,
  retry: "safe",
  idleTimeout: 1260,
  examples: [
    "wf audio speak --text Welcome --output-file welcome.mp3",
    "wf audio speak --message-id $MESSAGE --output-file answer.mp3",
  ],
});
