export { openQuestionSearch } from "./question-search.ts";
export type { SearchedItem, SearchedQuestion } from "./question-search.ts";
