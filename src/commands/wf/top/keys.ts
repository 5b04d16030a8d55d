import { shownRuns } from "./state.ts";
import type { TopRun, TopState } from "./state.ts";

/** What the person at the dashboard looks at. */
export interface TopView {
  /** ID of the selected run; the first one is selected if it is gone. */
  readonly selected: string | undefined;
  /** Whether the events of the selected run are shown instead of all runs. */
  readonly follows: boolean;
  /** The result of the last key. */
  readonly message?: string | undefined;
}

/** What a key asks for besides another view. */
export type TopAction = "quit" | "open" | "answer";

/** The selected run: one that is followed may have ended, so that it is not shown in the list. */
export const selectedRun = (view: TopView, state: TopState, now: number): TopRun | undefined => {
  const isSelected = ({ id }: TopRun) => id === view.selected;
  if (view.follows) return state.runs.find(isSelected);
  const runs = shownRuns(state, now);
  return runs[selectedIndex(view, runs)];
};

/** The view after a key, and the action that it starts. Unknown keys only remove the message. */
export function pressKey(
  key: string,
  view: TopView,
  runs: readonly TopRun[],
): { readonly view: TopView; readonly action?: TopAction } {
  const { selected, follows } = view;
  const same = { selected, follows };
  switch (key) {
    case "up":
    case "k":
      return { view: moved(same, runs, -1) };
    case "down":
    case "j":
      return { view: moved(same, runs, 1) };
    case "f":
    case "return":
      return { view: { ...same, follows: runs.length > 0 } };
    case "q":
    case "escape":
      if (follows) return { view: { ...same, follows: false } };
      return key === "q" ? { view, action: "quit" } : { view: same };
    case "o":
    case "a": {
      const hasRun = follows || runs.length > 0;
      return { view: same, ...(hasRun && { action: key === "o" ? "open" : "answer" }) };
    }
    case "resize":
      return { view };
    default:
      return { view: same };
  }
}

/** The place of the selected run; 0 if it is gone. */
export const selectedIndex = ({ selected }: TopView, runs: readonly TopRun[]): number =>
  Math.max(
    0,
    runs.findIndex(({ id }) => id === selected),
  );

function moved(view: TopView, runs: readonly TopRun[], by: number): TopView {
  if (view.follows) return view;
  const index = Math.min(Math.max(0, selectedIndex(view, runs) + by), runs.length - 1);
  return { ...view, selected: runs[index]?.id };
}
