export { figureNames } from "./fields.ts";
