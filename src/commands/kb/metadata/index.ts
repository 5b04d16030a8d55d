export { setBuiltInFields } from "./set.ts";
