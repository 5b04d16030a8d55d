export { countOpened, isBoundKey, readKey, readServer } from "./key-check.ts";
