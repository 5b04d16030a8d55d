export { figureNames } from "./command.ts";
