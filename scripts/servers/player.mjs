// Plays the steps against the server of one profile, with the programs as child processes.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../prepare.mjs";
import { learners, namesNeeded, reasons, refusals, scenes } from "./steps.mjs";

/** `kb doc add {kb} 'two words'` → ["kb", "doc", "add", "ID", "two words"] */
const wordsOf = (line, values) =>
  line
    .match(/'[^']*'|\S+/g)
    .map((word) => word.replaceAll("'", "").replaceAll(/\{(\w+)\}/g, (_, name) => values[name]));

const stepsOf = (subject) => scenes.filter((scene) => scene.subject === subject);

export class Player {
  /** What each step gave: { step, state, detail }, and if it was played { line, values, exchanges }. */
  outcomes = [];
  /** Lines that would remove the objects that are left. */
  left = [];
  /** Version that the server reports; undefined before a response. */
  version = undefined;
  #given;
  #judge;
  #signal;
  /** Steps that remove what may be made, each with the values that name it. */
  #removals = [];
  #runs = 0;

  /**
   * `given`: the profile, its applications, the pipelines, the values of placeholders, and a folder for files.
   * `judge`: the module judge.ts. `signal` stops between two steps.
   */
  constructor(given, judge, signal) {
    this.#given = given;
    this.#judge = judge;
    this.#signal = signal;
  }

  /** Plays all steps, and removes what they made, also if it is stopped or fails. */
  async play() {
    const { values, pipelines, applications } = this.#given;
    try {
      for (const scene of stepsOf("knowledge")) await this.#playScene(scene, values);
      for (const scene of stepsOf("pipeline"))
        for (const pipeline of pipelines) await this.#playScene(scene, { ...values, pipeline });
      for (const app of applications) {
        const own = { ...values, app };
        for (const scene of stepsOf("application"))
          if (scene.modes?.includes(own.mode) ?? true) await this.#playScene(scene, own);
      }
    } finally {
      await this.#removeAll();
    }
  }

  async #playScene({ steps }, values) {
    const removals = steps.filter(({ removes }) => removes !== undefined);
    this.#removals.push(...removals.map((step) => ({ step, values })));
    for (const step of steps) {
      if (this.#signal.aborted) return;
      const detail = this.#whyNot(step, values);
      if (detail === undefined) await this.#playStep(step, values);
      else this.outcomes.push({ step, state: "untried", detail });
    }
  }

  /** Removes what is left, last made first. */
  async #removeAll() {
    for (const { step, values } of this.#removals.toReversed()) {
      if (values[step.removes] === undefined) continue;
      const { line } = await this.#playStep(step, values);
      if (values[step.removes] !== undefined) this.left.push(line);
    }
  }

  /** Why a step is not played; undefined if it is. */
  #whyNot(step, values) {
    const { unless, from = "0", before = "999", reason } = step;
    const { atLeast } = this.#judge;
    const version = this.version ?? "0";
    if (!atLeast(version, from) || atLeast(version, before)) return reasons[reason];
    if (values[unless] !== undefined) return reasons[`with ${unless}`];
    const missing = namesNeeded(step).find((name) => values[name] === undefined);
    if (missing === undefined) return undefined;
    const source = this.outcomes.findLast(({ step }) => Object.hasOwn(step.learns, missing));
    if (source.state === "untried") return source.detail;
    if (source.state !== "works") return `${source.step.operation} did not work`;
    return reasons[missing] ?? `the response of ${source.step.operation} has no ${missing}`;
  }

  async #playStep(step, values) {
    const [program, ...words] = wordsOf(step.line, values);
    const target = ["-p", this.#given.profile, ...(program === "wf" ? ["--app", values.app] : [])];
    const line = [program, ...target, ...words].join(" ");
    const ran = await this.#run(program, [...target, ...words], { ...values, ...step });
    const versions = ran.exchanges.map(({ response }) => response.headers["X-Version"]);
    this.version ??= versions.find((version) => version !== undefined);
    const exchange = this.#judge.exchangeOf(step.operation, ran.exchanges);
    for (const [name, place] of exchange ? Object.entries(step.learns) : [])
      values[name] = this.#judge.learned(exchange, place ?? learners[name]);
    if (ran.exit === 0 && step.removes !== undefined) delete values[step.removes];
    const verdict = await this.#verdict({ ...step, mode: values.mode }, ran, exchange);
    const outcome = { step, line, values, exchanges: ran.exchanges, ...verdict };
    this.outcomes.push(outcome);
    return outcome;
  }

  /** What the result of a line says about its operation. */
  async #verdict({ operation, exits, prints, mode }, { exit, out, err }, exchange) {
    const said = /"message":("(?:[^"\\]|\\.)*")/.exec(err)?.[1] ?? err.trim();
    // Without the key, or the knowledge base of --pipeline, the server is not asked.
    if (!exchange) return { state: [3, 4].includes(exit) ? "untried" : "differs", detail: said };
    const { problemOf, sectionOf } = this.#judge;
    const detail =
      (await problemOf(operation, exchange)) ??
      (exits.includes(exit) ? outputProblem(out, prints) : `exit code ${exit}: ${said}`);
    if (detail === undefined) return { state: "works" };
    const server = { version: this.version ?? "0", mode };
    const section = sectionOf(operation, exchange, server, refusals);
    return { state: section === undefined ? "differs" : "refused", section, detail };
  }

  /**
   * Runs a program with a recorder, in a process group of its own: Ctrl-C does not reach it, so the response to a
   * create arrives and names what has to be removed.
   */
  #run(program, words, { app, prefix, prints }) {
    const { folder, profile } = this.#given;
    const record = join(folder, `${profile}-${++this.#runs}.json`);
    const own = {
      KB_STATE_DIR: join(folder, `${profile}-state`),
      KB_USER: prefix,
      KB_TIMEOUT: "5m",
    };
    const quiet = { KB_KEEP_ERRORS: "0", KB_NO_INPUT: "1" };
    const env = { ...process.env, ...own, ...quiet, RECORD_TO: record, RECORD_APP: app };
    const isGiven = words.some((word) => /^(-o|--output-file)$/.test(word));
    const format = isGiven || prints === "text" ? [] : ["-o", "json"];
    const recorder = join(root, "scripts", "servers", "recorder.cjs");
    const argv = ["--require", recorder, join(root, "bin", `${program}.js`), ...words, ...format];
    const stdio = ["ignore", "pipe", "pipe"];
    const child = spawn(process.execPath, argv, { env, stdio, detached: true });
    const text = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (piece) => (text.out += piece));
    child.stderr.setEncoding("utf8").on("data", (piece) => (text.err += piece));
    return new Promise((resolve, reject) => {
      child.on("error", reject);
      child.on("close", (exit) => {
        // A program that was killed has written none.
        const exchanges = existsSync(record) ? JSON.parse(readFileSync(record, "utf8")) : [];
        resolve({ exit, ...text, exchanges });
      });
    });
  }
}

/** Why stdout is neither a JSON value nor one per line; undefined if it is. */
function outputProblem(out, prints) {
  if (prints === "text") return undefined;
  const isJson = (text) => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return text === "";
    }
  };
  return isJson(out) || out.split("\n").every(isJson) ? undefined : "stdout is not JSON";
}
