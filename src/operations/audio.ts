import { body, form, wfOperation, record, audioFile } from "./operation.ts";
import { content_type, required, userInBody, userInForm } from "./shared.ts";

export const transcribeAudio = wfOperation({
  id: "audioToText",
  command: "wf audio transcribe <file>",
  action: "transcribe file {file}",
  summary: "Convert speech to text (uses a paid model)",
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
  summary: "Convert text to speech (uses a paid model)",
  route: "POST /text-to-audio",
  params: {
    message_id: body.uuid("Message whose answer to speak instead of --text"),
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
