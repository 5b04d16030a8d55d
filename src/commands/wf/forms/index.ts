export { askField, promptsForForms, withoutChoices } from "./dialog.ts";
export {
  appFields,
  checkValues,
  formFields,
  parseAssignments,
  assignedInputs,
  requireFiles,
  uploadInputFiles,
} from "./fields.ts";
export type { Field, NamedInputs } from "./fields.ts";
export { formAnswerer, readAnswers, submitWithAnswers } from "./pauses.ts";
export type { AnswerPause, FormAnswer } from "./pauses.ts";
export { noticeForms } from "./open-forms.ts";
export { checkAndSubmitForm, requireAction } from "./submission.ts";
export { assignedInput } from "./command.ts";
