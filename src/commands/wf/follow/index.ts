export { followDisplayed, TextStream } from "./displayed.ts";
