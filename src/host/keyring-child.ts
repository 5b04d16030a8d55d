import { text } from "node:stream/consumers";

/** A keyring call, as JSON on stdin: arguments would be visible in `ps`. */
export interface KeyringRequest {
  readonly verb: "get" | "set" | "delete";
  readonly name: string;
  readonly secret?: string;
}

/** Its result, as JSON on stdout. */
export interface KeyringReply {
  /** Null if the entry does not exist. */
  readonly secret?: string | null;
  /** Why the call failed. */
  readonly error?: string;
}

/** Service name of the entries, as keyring managers show it. */
const service = "kb-wf";
// By default the package may use the keyring of the kernel, which is lost at logout.
const options = { linux: { store: "secret-service" } } as const;

async function callKeyring({ verb, name, secret = "" }: KeyringRequest): Promise<KeyringReply> {
  const { Entry } = await import("@napi-rs/keyring");
  const entry = new Entry(service, name, options);
  if (verb === "get") return { secret: entry.getPassword() };
  if (verb === "set") entry.setPassword(secret);
  else entry.deleteCredential();
  return {};
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  return code.endsWith("MODULE_NOT_FOUND") || error.message.includes("native binding")
    ? "the package @napi-rs/keyring is not installed"
    : (error.message.split("\n")[0] ?? "");
}

void text(process.stdin)
  .then((request) => callKeyring(JSON.parse(request) as KeyringRequest)) // from system-keyring.ts
  .catch((error: unknown): KeyringReply => ({ error: describe(error) }))
  .then((reply) => process.stdout.write(JSON.stringify(reply), () => process.exit()));
