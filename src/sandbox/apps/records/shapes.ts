/** Events, responses and error texts of applications, as recorded. */
import { errorsOf } from "../../protocol/errors.ts";
import { fill } from "../../protocol/fill.ts";
import events from "./events.json" with { type: "json" };
import texts from "./errors.json" with { type: "json" };
import shapes from "./shapes.json" with { type: "json" };

type Values = Readonly<Record<string, unknown>>;

/** An event without its envelope: `data` for runs, other fields for messages. */
export interface RunEvent {
  readonly event: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly fields?: Readonly<Record<string, unknown>>;
}

const eventsOf =
  <Name extends string>(section: Readonly<Record<Name, object>>) =>
  (event: Name, values: Values): RunEvent => ({
    event,
    ...(fill(section[event], values) as object),
  });

/** Returns an event of a live stream. */
export const runEvent = eventsOf(events.live);

/** Returns an event of a snapshot, where nodes have no inputs, outputs and errors (server §15.6). */
export const replayedEvent = eventsOf(events.replayed);

const roundsEvents = eventsOf(events.rounds);

/** Returns an event of a loop or an iteration. */
export const roundsEvent = (
  type: "loop" | "iteration",
  event: keyof typeof events.rounds,
  values: Values,
): RunEvent => ({ ...roundsEvents(event, values), event: `${type}_${event}` });

/** Returns an event of a message of a basic application. */
export const messageEvent = (event: keyof typeof events.basic, values: Values): RunEvent => ({
  event,
  fields: fill(events.basic[event], values) as Record<string, unknown>, // as in the file
});

/** Returns a response, or a part of one. */
export const fillShape = (name: keyof typeof shapes, values: Values) =>
  fill(shapes[name], values) as Record<string, unknown>; // as in the file

/** Returns the error with that name. */
export const appError = errorsOf(texts);
