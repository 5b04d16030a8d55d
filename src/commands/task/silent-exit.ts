import { CliError } from "../../errors.ts";

/** Exits with this code, without an error message. */
export class SilentExit extends CliError {
  readonly code: number;

  constructor(code: number) {
    super("failure", "");
    this.code = code;
  }

  override get exit(): number {
    return this.code;
  }
}
