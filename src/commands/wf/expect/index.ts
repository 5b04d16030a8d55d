export { evaluate, readExpectations } from "./expect.ts";
export type { ExpectInput } from "./expect.ts";
