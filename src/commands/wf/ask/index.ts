export { answerText, openApp, openForm, retrievedChunks, runAnswer, stopsSuite } from "./ask.ts";
export type { OnEvents, SuiteAnswer, SuiteApp } from "./ask.ts";
