import { usage } from "../../errors.ts";
import { retryOf } from "../../operations/operation.ts";
import type { AnyOperation } from "../../operations/operation.ts";
import type { CallableCommand } from "../task/command-runner.ts";

/** What clients may do beside reading. */
export interface Permissions {
  readonly write: boolean;
  readonly delete: boolean;
}

/** What --allow names; nothing where the settings are read-only. */
export const permissionsOf = (allow: readonly string[], readOnly: boolean): Permissions => ({
  write: !readOnly && allow.includes("write"),
  delete: !readOnly && allow.includes("delete"),
});

/**
 * Throws usage for a request that clients may not send. Called with each before it is sent, whatever led to it:
 * text of documents can ask a model for anything.
 */
export function requirePermission(row: AnyOperation, permissions: Permissions): void {
  const kind = row.destructive ? "delete" : "write";
  if (retryOf(row) === "safe" || permissions[kind]) return;
  throw usage(
    `this server may not ${kind}`,
    `only its user can change that, by starting it with --allow ${kind}`,
    { code: "not-allowed" },
  );
}

/** Is every request of the command allowed? */
export const isPermitted = (command: CallableCommand, { write, delete: deletes }: Permissions) =>
  effectOf(command) === "reads" || (effectOf(command) === "destroys" ? deletes : write);

/** A command destroys if one of its requests does. */
export const effectOf = ({ effect, sends }: CallableCommand): CallableCommand["effect"] =>
  sends.some(({ destructive }) => destructive) ? "destroys" : effect;
