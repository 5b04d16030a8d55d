export { countOpened, isBoundKey, readKey } from "./key-check.ts";
