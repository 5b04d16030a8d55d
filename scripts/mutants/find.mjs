// Finds what a mutant can change in a file: operators, conditions and numbers. Pure.
import { parseSync } from "rolldown/utils";

/** What replaces an operator. `??` and `instanceof` stay. */
const operators = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "===",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
  "%": "*",
  "&&": "||",
  "||": "&&",
};

const isText = ({ type, value }) =>
  type === "TemplateLiteral" || (type === "Literal" && typeof value === "string");

/** Whether a sum is surely one of texts: a difference of these is NaN, which says nothing about the tests. */
const isJoined = ({ operator, left, right }) =>
  operator === "+" &&
  [left, right].some((side) => isText(side) || (side.operator && isJoined(side)));

/** The changes that a node of the syntax tree allows: where, and what stands there then. */
function changesOf(node, code) {
  const { type, start, end } = node;
  const text = ({ start: from, end: to }) => code.slice(from, to);
  const changed = (what, to) => ({ start, end, what, from: code.slice(start, end), to });
  const negated = ({ test }) => ({
    start: test.start,
    end: test.end,
    what: "condition negated",
    from: text(test),
    to: `!(${text(test)})`,
  });
  switch (type) {
    case "BinaryExpression":
    case "LogicalExpression": {
      const { operator, left, right } = node;
      const other = operators[operator];
      if (other === undefined || isJoined(node)) return [];
      const between = code.slice(left.end, right.start).replace(operator, other);
      const turned = code.slice(start, left.end) + between + code.slice(right.start, end);
      return [changed(`${operator} is ${other}`, `(${turned})`)];
    }
    case "IfStatement":
    case "WhileStatement":
    case "ConditionalExpression":
      return [negated(node)];
    case "UnaryExpression":
      return node.operator === "!" ? [changed("! is gone", `(${text(node.argument)})`)] : [];
    case "Literal":
      return typeof node.value === "number" ? [changed("one more", `${node.value + 1}`)] : [];
    default:
      return [];
  }
}

/** Parts of the tree that do not exist at run time, or where a number is a name. */
function isRuntime(key, value, node) {
  if (key === "parent" || value?.type?.startsWith("TS") === true) return isExpression(value);
  return !(key === "key" && node.computed === false);
}

/** `value as Type` and its like contain an expression; everything else of the types does not. */
const isExpression = (value) =>
  ["TSAsExpression", "TSSatisfiesExpression", "TSNonNullExpression"].includes(value?.type);

/**
 * All mutants of a TypeScript file in the order of their places: `{ start, end, line, text, isStatic, what, from, to }`;
 * `text` is the line on which it begins. A static one is evaluated once, when the file is imported.
 */
export function mutantsOf(code) {
  const { program, errors } = parseSync("file.ts", code);
  if (errors.length > 0) throw new Error(errors[0].message);
  const found = [];
  const visit = (node, isOutside) => {
    const isStatic = isOutside && !/Function/.test(node.type);
    for (const change of changesOf(node, code)) found.push({ ...change, isStatic });
    for (const [key, value] of Object.entries(node)) {
      if (["typeAnnotation", "typeArguments", "typeParameters", "returnType"].includes(key))
        continue;
      for (const child of Array.isArray(value) ? value : [value])
        if (typeof child?.type === "string" && isRuntime(key, child, node)) visit(child, isStatic);
    }
  };
  visit(program, true);
  const lines = code.split("\n");
  return found
    .map((mutant) => {
      const line = code.slice(0, mutant.start).split("\n").length;
      return { ...mutant, line, text: lines[line - 1].trim() };
    })
    .toSorted((one, other) => one.start - other.start || other.end - one.end);
}

/** Whether a reason of test/mutants.yaml is one for a mutant: `line` is part of the line on which it begins. */
export const isReasonFor = (reason, { file, what, from, text }) =>
  reason.in === file &&
  reason.what === what &&
  reason.from === from &&
  text.includes(reason.line ?? from.split("\n")[0]);

/** The code with a mutant. */
export const mutated = ({ start, end, to }, code) => code.slice(0, start) + to + code.slice(end);

/** The code that calls `mutantReached(id)` wherever one of these mutants is evaluated: pairs of ID and mutant. */
export function watched(pairs, code) {
  const at = pairs.flatMap(([id, { start, end }]) => [
    { place: start, text: `(globalThis.mutantReached?.(${id}), `, order: end },
    { place: end, text: ")", order: -start },
  ]);
  // At the same place: brackets are closed before others open, the inner ones first; outer ones open first.
  const closes = ({ text }) => Number(text !== ")");
  const sorted = at.toSorted(
    (one, other) =>
      one.place - other.place || closes(one) - closes(other) || other.order - one.order,
  );
  let done = 0;
  let result = "";
  for (const { place, text } of sorted) {
    result += code.slice(done, place) + text;
    done = place;
  }
  return result + code.slice(done);
}
