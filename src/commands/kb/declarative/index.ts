/** What other features use of files that describe a knowledge base. */
export { kbFileOf } from "./file.ts";
