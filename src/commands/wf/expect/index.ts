export {
  checkExpectation,
  gateError,
  namedEnds,
  runSucceeded,
  noForms,
  runFields,
  traceEvents,
} from "./run-scope.ts";
export type { Expectation } from "./run-scope.ts";
export { evaluate, readExpectations } from "./expect.ts";
export { nodeForms, quoted } from "./node-checks.ts";
export { readChecks } from "./yaml-file.ts";
export { MAX_YAML_SIZE, readEach, readYamlNodes, valueReader } from "./yaml-nodes.ts";
export type { YamlNode, YamlNodes } from "./yaml-nodes.ts";
export { expectParams } from "./params.ts";
