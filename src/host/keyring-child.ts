import { text } from "node:stream/consumers";

/** What is asked of the keyring, as JSON on standard input: arguments would show in `ps`. */
export interface KeyringRequest {
  readonly verb: "get" | "set" | "delete";
  readonly name: string;
  readonly secret?: string;
}

/** What it said, as JSON on standard output. */
export interface KeyringReply {
  /** Null where nothing rests under the name. */
  readonly secret?: string | null;
  /** Why there is none. */
  readonly error?: string;
}

/** Under which the keyring's own programs show our entries. */
const service = "kb-wf";
// The package's own choice would fall back to a keyring of the kernel, which forgets at logout.
const options = { linux: { store: "secret-service" } } as const;

async function answered({ verb, name, secret = "" }: KeyringRequest): Promise<KeyringReply> {
  const { Entry } = await import("@napi-rs/keyring");
  const entry = new Entry(service, name, options);
  if (verb === "get") return { secret: entry.getPassword() };
  if (verb === "set") entry.setPassword(secret);
  else entry.deleteCredential();
  return {};
}

/** Why, in one line; that the package is missing in words of ours. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error ? String(error.code) : "";
  return code.endsWith("MODULE_NOT_FOUND") || error.message.includes("native binding")
    ? "the package @napi-rs/keyring is not installed"
    : (error.message.split("\n")[0] ?? "");
}

void text(process.stdin)
  .then((question) => answered(JSON.parse(question) as KeyringRequest)) // asked by keyring.ts
  .catch((error: unknown): KeyringReply => ({ error: reasonOf(error) }))
  .then((answer) => process.stdout.write(JSON.stringify(answer), () => process.exit()));
