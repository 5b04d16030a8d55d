export { checkExpectation, gateError, namedEnds, runSucceeded } from "./expectation.ts";
export type { Expectation } from "./expectation.ts";
export { evaluate, readExpectations } from "./expect.ts";
export { nodeForms } from "./node-checks.ts";
export { noForms, runFields } from "./run-scope.ts";
export { quoted } from "./texts.ts";
export { readChecks } from "./yaml-file.ts";
export { MAX_YAML_SIZE, readEach, readYamlNodes, valueNodes } from "./yaml-nodes.ts";
export type { YamlNode, YamlNodes } from "./yaml-nodes.ts";
