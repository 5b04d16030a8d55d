/** What other features use of files that describe a knowledge base. */
export { kbFileOf, kbFileText } from "./file.ts";
