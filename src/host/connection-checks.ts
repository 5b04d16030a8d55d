import { lookup } from "node:dns";
import type { LookupAddress, LookupOptions } from "node:dns";
import { readFile } from "node:fs/promises";
import { rootCertificates } from "node:tls";
import { usage } from "../errors.ts";
import { isPublicAddress } from "../lib/addresses.ts";
import type { ConnectionSettings, RawHost } from "./host.ts";

export type ReadFile = (path: string) => Promise<Uint8Array>;
type LookupDone = (error: Error | null, found: string | LookupAddress[], family?: number) => void;

/** What a connection checks of the server: its certificate (PEM texts) and its address. */
export interface ConnectionChecks {
  readonly ca?: string[];
  readonly lookup?: typeof lookup;
}

/** The checks that the settings ask for. Throws usage for a file that cannot be read or is not PEM. */
export async function connectionChecks(
  { caFile, publicOnly }: ConnectionSettings,
  env: RawHost["env"],
  read: ReadFile = (path) => readFile(path),
): Promise<ConnectionChecks> {
  return {
    ...(caFile !== undefined && { ca: await readCertificates(caFile, env, read) }),
    ...(publicOnly && { lookup: publicLookup() }),
  };
}

/** Looks names up, and refuses those that do not lead to a public address. */
function publicLookup(): typeof lookup {
  const checked = (host: string, options: LookupOptions, done: LookupDone) =>
    lookup(host, { ...options, all: true }, (error, found) => {
      const isPublic = !error && found.every(({ address }) => isPublicAddress(address));
      const refusal = Object.assign(new Error(`${host} has a private address`), {
        code: "ERR_PRIVATE_ADDRESS",
      });
      if (!isPublic) done(error ?? refusal, []);
      else if (options.all) done(null, found);
      else done(null, found[0]?.address ?? "", found[0]?.family);
    });
  return checked as typeof lookup; // all that undici calls
}

/**
 * Reads a PEM file and adds Node's own authorities and those of NODE_EXTRA_CA_CERTS, because setting
 * `ca` alone would replace them.
 */
async function readCertificates(
  path: string,
  env: RawHost["env"],
  read: ReadFile,
): Promise<string[]> {
  const text = async (file: string) => new TextDecoder().decode(await read(file));
  const pem = await text(path).catch((cause: unknown) => {
    throw usage(`failed to read the certificate file ${path}`, undefined, { cause });
  });
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) {
    throw usage(
      `${path} does not contain a certificate`,
      "--ca-file takes PEM: text that begins with -----BEGIN CERTIFICATE-----",
    );
  }
  const extra = env["NODE_EXTRA_CA_CERTS"];
  const extraPem = extra ? await text(extra).catch(() => "") : ""; // Node itself warns about it
  return [...rootCertificates, extraPem, pem];
}
