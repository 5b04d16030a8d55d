export { claimForms, contains, equals, exists, matches } from "./claims.ts";
export type { Claim, FieldKind, Reading, Result } from "./claims.ts";
export { readForm } from "./forms.ts";
export type { Forms } from "./forms.ts";
export { evaluateGate, failedGate, gateError, gateSections, parseGate } from "./gate.ts";
export type { ConditionResult } from "./gate.ts";
export { readAmount, readDuration, readTimeLimit, meetsLimit } from "./limits.ts";
export type { Limit } from "./limits.ts";
export {
  fieldCheck,
  isLimited,
  parseCondition,
  parseValue,
  readFieldCheck,
  runForms,
} from "./parser.ts";
export type { Check, ConditionField, Scope } from "./parser.ts";
export type { ConditionReader } from "./reader.ts";
