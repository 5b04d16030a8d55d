export { isBoundKey, readKey, readKnowledgeBases } from "./key-check.ts";
