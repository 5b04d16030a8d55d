/** Events, responses and error texts of applications, as recorded. */
import { errorsOf } from "../../protocol/errors.ts";
import { fill, type RunEvent } from "../../protocol/fill.ts";
import events from "./events.json" with { type: "json" };
import texts from "./errors.json" with { type: "json" };
import shapes from "./shapes.json" with { type: "json" };

type Values = Readonly<Record<string, unknown>>;

/** Returns an event of a loop or an iteration. */
export const roundsEvent = (
  type: "loop" | "iteration",
  event: keyof typeof events.rounds,
  values: Values,
): RunEvent => ({ event: `${type}_${event}`, data: fill(events.rounds[event], values) });

/** Returns an event of a message of a basic application. */
export const messageEvent = (event: keyof typeof events.basic, values: Values): RunEvent => ({
  event,
  fields: fill(events.basic[event], values),
});

/** Returns a response, or a part of one. */
export const fillShape = (name: keyof typeof shapes, values: Values) => fill(shapes[name], values);

/** Returns the error with that name. */
export const appError = errorsOf(texts);
