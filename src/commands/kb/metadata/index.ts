export { setBuiltInFields } from "./built-in.ts";
