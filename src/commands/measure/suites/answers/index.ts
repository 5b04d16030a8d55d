export { answerText } from "../../ask/index.ts";
export type { SuiteAnswer } from "../../ask/index.ts";
export { judgeNotes, saveCalibration, warnOfJudges } from "./calibrations.ts";
export { openJudges } from "./judge.ts";
export {
  checkContext,
  checkSearch,
  itemChecks,
  nameIn,
  openSearches,
  searchFor,
} from "./check-chunks.ts";
export { openChecker, sumOf, unjudgedBy } from "./check-answer.ts";
export type { CheckAnswer } from "./check-answer.ts";
export type { Judgement } from "./judge.ts";
export type { Searches } from "./check-chunks.ts";
export { statuses, storedAnswer, storedRun, storedSelection } from "./stored-run.ts";
export type {
  AnswerCheck,
  AskedTurn,
  FoundChunks,
  TestRun,
  TestSelection,
  TurnCheck,
} from "./stored-run.ts";
