export { answerText, openAsker, stopsSuite } from "./ask.ts";
export type { Asker, SuiteAnswer } from "./ask.ts";
export { openChecker, sumOf } from "./check-answer.ts";
export type { AnswerCheck, CheckAnswer } from "./check-answer.ts";
export { compareWords, segmentsOf } from "./compare-answer.ts";
export { requireAllowed } from "./run-program.ts";
export { checkSearch, openSearches, searchFor } from "./search-test.ts";
export type { FoundChunks, Searches } from "./search-test.ts";
