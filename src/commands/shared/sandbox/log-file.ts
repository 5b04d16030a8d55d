import { reasonOf } from "../../../errors.ts";
import type { Context } from "../../command-spec.ts";

/** A request to the sandbox, as a line shows it. */
interface LoggedRequest {
  /** ISO time. */
  readonly time: string;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Null if there was no response. */
  readonly status: number | null;
  /** Duration in ms. */
  readonly ms: number | null;
  readonly app: string | null;
  readonly dataset: string | null;
}

/** The lines of --log, one for each request. Nothing in them is a key or a body. */
export class RequestLogFile {
  readonly #path: string | undefined;
  readonly #context: Context;
  /** The lines are written in order. */
  #last = Promise.resolve();
  #failed = false;

  constructor(path: string | undefined, context: Context) {
    this.#path = path;
    this.#context = context;
  }

  add({ time, method, path, status, ms, app, dataset }: LoggedRequest): void {
    if (this.#path === undefined) return;
    const line = `${JSON.stringify({ time, method, path, status, ms, app, dataset })}\n`;
    this.#last = this.#last.then(() => this.#write(line));
  }

  /** Resolves when all lines are written. */
  written(): Promise<void> {
    return this.#last;
  }

  async #write(line: string): Promise<void> {
    const { host } = this.#context;
    if (this.#failed || this.#path === undefined) return;
    try {
      if (this.#path === "-") await host.stdout.write(line);
      else await host.files.append(this.#path, line);
    } catch (error) {
      this.#failed = true;
      await this.#context.notice(`--log: failed to write ${this.#path}: ${reasonOf(error)}`);
    }
  }
}
