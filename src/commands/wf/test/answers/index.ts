export { answerText, openAsker, stopsSuite } from "./ask.ts";
export type { Asker, SuiteAnswer } from "./ask.ts";
export { openChecker } from "./check-answer.ts";
export type { AnswerCheck, CheckAnswer } from "./check-answer.ts";
export { compareWords, segmentsOf } from "./compare-answer.ts";
export { checkSearch, openSearches } from "./search-test.ts";
export type { Searches } from "./search-test.ts";
