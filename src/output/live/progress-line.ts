import { groupDigits } from "../../lib/numbers.ts";
import type { ProgressStep } from "../../lib/progress-step.ts";
import { cut, ellipsis } from "../table/cut.ts";
import { shorten, visible, widthOf } from "../table/display-width.ts";
import { clockTime } from "../../lib/duration.ts";
import { TimeLeft } from "./time-left.ts";

/** Narrowest name of an item that can be recognized. */
const MIN_CURRENT = 8;
/** The longest usual time left. */
const LONG_LEFT = "1:02:10 left";

/** The steps of a command as the text of one line. */
export class ProgressLine {
  /** The verb of the command: `Syncing`. */
  readonly #verb: string;
  /** Between the parts. */
  readonly #separator: string;
  readonly #mark: string;
  #step: ProgressStep | undefined;
  #timeLeft: TimeLeft | undefined;

  constructor(verb: string, unicode: boolean) {
    this.#verb = verb;
    this.#separator = unicode ? " · " : ", ";
    this.#mark = ellipsis(unicode);
  }

  /** Is there work that is counted and not complete? */
  get isOpen(): boolean {
    return this.#step !== undefined && this.#step.done !== this.#step.total;
  }

  /** Takes the next step, at a time in ms. Another verb, unit or start begins another work. */
  update(step: ProgressStep, now: number): void {
    const before = this.#step;
    const isSame =
      before && before.verb === step.verb && before.unit === step.unit && before.done <= step.done;
    if (!isSame) this.#timeLeft = new TimeLeft(now, step.done);
    this.#timeLeft?.add(now, step.done);
    this.#step = step;
  }

  /**
   * `Syncing  134/302 files · 3 failed · it/page-011.md`, at most `width` columns; the name leaves room
   * for the time left, which is a text of its own because it changes between the steps.
   */
  text(now: number, width = Infinity): string {
    const step = this.#step;
    if (!step) return "";
    const parts = [
      `${step.verb ?? this.#verb}  ${countText(step)} ${step.unit}`,
      ...(step.failed ? [`${groupDigits(step.failed)} failed`] : []),
      ...(step.note === undefined ? [] : [visible(step.note)]),
      ...this.#rate(now),
    ];
    const separator = this.#separator;
    const line = parts.join(separator);
    const room = width - widthOf(`${line}${separator}${separator}${LONG_LEFT}`);
    if (step.current === undefined || step.current === "" || room < MIN_CURRENT)
      return shorten(line, width, this.#mark);
    return `${line}${separator}${cut(visible(step.current), room, this.#mark)}`;
  }

  /** ` · 0:42 left`; empty until it is known, and if it does not fit behind the text. */
  timeLeft(now: number, width = Infinity): string {
    const total = this.#step?.total;
    const seconds = total === undefined ? undefined : this.#timeLeft?.seconds(total, now);
    if (seconds === undefined) return "";
    const text = `${this.#separator}${clockTime(seconds)} left`;
    return widthOf(this.text(now, width)) + text.length <= width ? text : "";
  }

  /** The rate of work with an unknown end. */
  #rate(now: number): readonly string[] {
    const rate = this.#step?.total === undefined ? this.#timeLeft?.perSecond(now) : undefined;
    return rate === undefined
      ? []
      : [`${rate < 10 ? rate.toFixed(1) : groupDigits(Math.round(rate))}/s`];
  }
}

const countText = ({ done, total }: ProgressStep): string =>
  total === undefined ? groupDigits(done) : `${groupDigits(done)}/${groupDigits(total)}`;
