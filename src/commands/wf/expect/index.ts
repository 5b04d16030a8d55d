export { evaluate, readExpectations } from "./expect.ts";
export { nodeForms } from "./node-checks.ts";
export { noForms, runFields } from "./run-scope.ts";
