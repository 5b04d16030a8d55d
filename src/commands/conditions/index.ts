export {
  claimForms,
  matches,
  readForm,
  readAmount,
  readDuration,
  readTimeLimit,
  meetsLimit,
  withinSecond,
} from "./claims.ts";
export type { FieldKind, Reading, Result, Forms, Limit } from "./claims.ts";
export { evaluateGate, failedGate, gateError, gateSections, parseGate } from "./gate.ts";
export type { ConditionResult } from "./gate.ts";
export { parseCondition, parseValue, readFieldCheck, runForms } from "./parser.ts";
export type { Check, ConditionField, Scope } from "./parser.ts";
export { rowScope } from "./row-scope.ts";
export type { ConditionReader } from "./reader.ts";
