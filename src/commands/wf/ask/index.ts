export { answerText, openApp, openInputs, retrievedChunks, runAnswer, stopsSuite } from "./ask.ts";
export type { OnEvents, SuiteAnswer, SuiteApp } from "./ask.ts";
