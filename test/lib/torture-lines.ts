import { join } from "node:path";

/** Paths and IDs for command lines, in the state that `torture-world.ts` creates. */
export interface Places {
  /** Absolute path of a file or directory. */
  readonly at: (path: string) => string;
  readonly token: string;
  readonly run: string;
}

export interface Line {
  readonly name: string;
  readonly argv: (places: Places) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  /** Input on a terminal, one text per prompt. */
  readonly answers?: readonly string[];
  /**
   * Run again after a fault, it has the same result as without one; or it reports what is unknown, and
   * sends nothing a second time.
   */
  readonly again?: true | "sends nothing twice";
  /** Files that may be incomplete without harm. */
  readonly partial?: RegExp;
  /**
   * What it reports when it continues with less output than without the fault: a plan without unreadable
   * files, a stream with a gap; for completion nothing.
   */
  readonly announces?: RegExp;
  /** Output of the program that it starts. */
  readonly child?: string;
}

const line = (words: string, more: Partial<Line> = {}): Line => ({
  name: words,
  argv: ({ at, token, run }) =>
    words
      .split(" ")
      .map((word) => word.replace("TOKEN", token).replace("RUN", run).replace(/^\.\//, at(""))),
  ...more,
});

/** Work files of a log export, with which it resumes. */
const work = /\.part(\.journal)?$/;

/** The journal of what an interrupted sync has made. */
const made = /state\/sync-[\da-f]+-\d\.jsonl$/;

export const lines: readonly Line[] = [
  line("kb list --all"),
  line("kb show Handbook -o json"),
  line("kb search Handbook leave"),
  line("kb doc list Handbook --all -o jsonl"),
  line("wf logs --all"),
  line("wf stats --since 2d -o json"),
  line("wf show RUN"),
  line("wf events RUN --follow -o jsonl", {
    announces: /events sent while disconnected, .* may be missing/,
  }),
  line("wf timeline ./run.jsonl"),
  line("kb create Fresh --indexing-technique economy"),
  line("kb doc add Handbook new.md --text hello"),
  line("kb doc add Handbook file.md --text-file ./docs/a.md"),
  line("kb doc upload Handbook ./docs/prices.csv"),
  line("kb doc upload Handbook ./docs/prices.csv --retries 0"),
  line("kb doc add Handbook typed.md --text-file -", { stdin: "typed text" }),
  line("kb doc rename Handbook leave.md holidays.md"),
  line("kb update Handbook --name Manual"),
  line("kb delete Handbook -y"),
  line("kb delete Handbook", { answers: ["Handbook"] }),
  line("kb metadata set Handbook welcome.md leave.md --set team=people"),
  line("kb tag bind Handbook draft"),
  line("kb tag create --each ./tags.csv --errors-to ./failed.csv", {
    again: "sends nothing twice",
    partial: /failed\.csv$|state\/each-/,
  }),
  line("kb doc add Handbook --each ./texts.jsonl -o jsonl", {
    again: true,
    partial: /state\/each-/,
  }),
  line("kb sync Handbook ./docs", { again: true, partial: made }),
  line("kb sync Synced ./synced", { again: true, partial: made }),
  line("kb sync Synced ./synced --prune --max-delete 100% -y", { again: true, partial: made }),
  line("kb export Handbook ./new-backup", { again: true, partial: /manifest\.part\.jsonl$/ }),
  line("kb export Handbook ./backup", {
    again: true,
    partial: /manifest\.part\.jsonl$|chunks\//,
  }),
  line("kb import ./backup --name Copy", { again: true, partial: /state\/imports\// }),
  line("kb verify ./backup Handbook"),
  line("kb pull Handbook --output-file ./pulled.yml"),
  line("kb apply ./kb.yml", { again: true, partial: made }),
  line("kb doc download Handbook welcome.md leave.md --dir ./down", { again: true }),
  line("kb doc download Handbook welcome.md leave.md --zip ./down.zip", { again: true }),
  line("kb eval Handbook ./questions.jsonl --save ./baseline.json", { again: true }),
  line("kb lint ./docs"),
  line("wf run --input query=hello"),
  line("wf run --input query=hello --record ./new.jsonl --expect ./expect.yml", {
    // What is known about a run is saved when it is known: its task at its start, its recording at its end.
    partial: /new\.jsonl$|state\/runs\//,
  }),
  line("wf run --each ./queries.csv --errors-to ./failed.csv", {
    again: "sends nothing twice",
    // A signal can come between the end of a run and the time when its task is saved.
    partial: /failed\.csv$|state\/(each-|runs\/)/,
  }),
  line("wf form submit TOKEN --action approve --input comment=fine", {
    env: { KB_APP_KEY: "app-review" },
  }),
  line("wf logs export ./all.jsonl --state ./all.state", { again: true, partial: work }),
  line("wf logs export ./runs.jsonl --state ./runs.state", { again: true, partial: work }),
  line("wf logs export ./detail.csv --with-detail", { again: true, partial: work }),
  line("wf replay ./run.jsonl"),
  line("wf diff ./run.jsonl ./other.jsonl -o json"),
  line("kb login home --base-url http://127.0.0.1:9 --key-file - --insecure-storage --no-check", {
    stdin: "dataset-typed",
    again: true,
  }),
  line("kb login kept --base-url http://127.0.0.1:9 --key-file - --no-check", {
    stdin: "dataset-typed",
    again: true,
  }),
  line("kb profile remove work -y", { again: true }),
  line("kb profile use work", { again: true }),
  line("kb config explain"),
  line("kb list -p command", { child: "dataset-sandbox" }),
  line("kb doctor"),
  line("kb completion bash"),
  line("kb __complete -- show Hand", { announces: /^$/ }),
  line("kb help sync"),
  line("kb help exit-codes"),
  line("kb update Handbook --name Manual --dry-run"),
  line("kb sync Handbook ./docs --dry-run", { announces: /^\d+ files?: .*skipped/m }),
];

/** The directory of all files. */
export const placesIn = (root: string, token: string, run: string): Places => ({
  at: (path) => (path === "" ? `${root}/` : join(root, path)),
  token,
  run,
});
