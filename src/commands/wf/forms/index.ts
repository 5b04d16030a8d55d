export { askFields, promptsForForms, withoutChoices } from "./dialog.ts";
export {
  appFields,
  applicationFields,
  checkValues,
  formFields,
  parseAssignments,
  assignedInputs,
  requireFiles,
  uploadInputFiles,
} from "./fields.ts";
export type { Field, NamedInputs } from "./fields.ts";
export { isAssignment } from "./not-assigned.ts";
export { chooseForm, chosenForm } from "./choose-form.ts";
export { noticeForms } from "./list.ts";
export {
  checkAndSubmitForm,
  formAnswerer,
  readAnswers,
  requireAction,
  submitWithAnswers,
} from "./submission.ts";
export type { AnswerPause, FormAnswer, Submission } from "./submission.ts";
export { assignedInput } from "./command.ts";
