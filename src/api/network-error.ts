import { CliError, reasonOf } from "../errors.ts";
import { checkBeforeRetrying } from "./api-error.ts";
import type { HttpRequest } from "./request.ts";

interface NetworkErrorDetails {
  /** The cause in plain words. */
  readonly words: string;
  /** The server did not read the request, so any row may be retried. */
  readonly unsent: boolean;
  /** Retrying cannot help. */
  readonly final: boolean;
  readonly hint?: string | undefined;
}

type SystemError = Error & {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly hostname?: unknown;
  readonly syscall?: unknown;
};

interface Kind extends Partial<Omit<NetworkErrorDetails, "words">> {
  readonly codes: RegExp;
  readonly words: string | ((error: SystemError, code: string) => string);
}

const unknownName: Omit<Kind, "codes"> = {
  words: ({ hostname }) => `host not found: ${String(hostname)} (DNS)`,
  unsent: true,
  hint: "check the base URL and the network",
};

/** The first match counts. Addresses and names are included: they may be those of a proxy. */
const kinds: readonly Kind[] = [
  {
    codes: /^ECONNREFUSED$/,
    words: ({ address, port }) => `connection refused: ${String(address)}:${String(port)}`,
    unsent: true,
    hint: "check that the server is running and the base URL is correct",
  },
  { codes: /^ENOTFOUND$/, ...unknownName, final: true },
  { codes: /^EAI_\w+$/, ...unknownName },
  {
    codes: /^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/,
    words: "connection timed out",
    unsent: true,
    hint: "increase --connect-timeout, or check the network and the proxy",
  },
  {
    codes: /^(EHOSTUNREACH|ENETUNREACH)$/,
    words: "host unreachable",
    unsent: true,
    hint: "check the network and the proxy",
  },
  {
    codes: /ALTNAME|HOSTNAME_MISMATCH/,
    words: "the server's certificate is for another host",
    unsent: true,
    final: true,
    hint: "check the host of the base URL; --ca-file does not help here",
  },
  {
    codes: /CERT_(HAS_EXPIRED|NOT_YET_VALID)/,
    words: (_, code) => `the server's certificate is expired or not yet valid (${code})`,
    unsent: true,
    final: true,
    hint: "its operator must renew it; --ca-file does not help here",
  },
  {
    codes: /^(?!ERR_SSL_).*(CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|DEPTH_ZERO)/,
    words: (_, code) => `the server's certificate is not trusted (${code})`,
    unsent: true,
    final: true,
    hint: "pass your certificate authority with --ca-file or NODE_EXTRA_CA_CERTS",
  },
  {
    codes: /^(EPROTO|ERR_SSL_\w*(VERSION|PROTOCOL|PACKET_LENGTH|HANDSHAKE|HTTP_REQUEST)\w*)$/,
    words: (_, code) => `TLS handshake failed (${code})`,
    unsent: true,
    final: true,
    hint: "if the server uses plain HTTP, the base URL must start with http://",
  },
  {
    codes: /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/,
    words: "no data received within the idle timeout",
    hint: "increase --idle-timeout; a default server handles ten connections at a time, and a proxy may hold back event streams (buffering)",
  },
  {
    codes: /^UND_ERR_HEADERS_OVERFLOW$/,
    words: "the response headers are too large",
    final: true,
    hint: "a proxy may add them; check the base URL",
  },
  {
    codes: /^HPE/,
    words: ({ message }) => `invalid HTTP response: ${message}`,
    hint: "check the port of the base URL, and whether it starts with http:// or https://",
  },
  { codes: /^E[MN]FILE$/, words: reasonOf, unsent: true },
  // Which of these is reported depends on timing; they mean the same.
  { codes: /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, words: "connection reset" },
  { codes: /^Z_BUF_ERROR$/, words: "incomplete compressed data" },
  {
    codes: /^(E[A-Z0-9]+|UND_ERR_\w+|ERR_SSL_\w+)$/,
    words: (_, code) => `connection reset (${code})`,
  },
];

/** What an error of sockets, undici or its parser means; undefined for any other error. */
export function networkError(thrown: Error): NetworkErrorDetails | undefined {
  if (codeOf(thrown) === "ERR_TUNNEL" && thrown.cause instanceof Error) {
    const failure = networkError(thrown.cause);
    return failure && { ...failure, words: `proxy connection failed: ${failure.words}`, ...tunnel };
  }
  const error = innermost(thrown);
  const code = codeOf(error);
  const rejected = code === "UND_ERR_ABORTED" && /Proxy response \((\d+)\)/.exec(error.message);
  if (rejected) return rejectedByProxy(Number(rejected[1]));
  // Errors that prevent a connection can also end an established one.
  const established = error.syscall === "read" || error.syscall === "write";
  const kind = kinds.find(({ codes, unsent }) => codes.test(code) && !(unsent && established));
  if (kind === undefined) return undefined;
  const { words, unsent = false, final = false, hint } = kind;
  return { words: typeof words === "string" ? words : words(error, code), unsent, final, hint };
}

/** No tunnel was opened, so nothing was sent through it. */
const tunnel = {
  unsent: true,
  hint: "check HTTPS_PROXY and HTTP_PROXY; NO_PROXY lists hosts to connect to directly",
};

const rejectedByProxy = (status: number): NetworkErrorDetails => ({
  ...tunnel,
  words: `the proxy rejected the connection (${status})`,
  final: ![502, 503, 504].includes(status),
  ...(status === 407 && {
    hint: "pass a name and a password: HTTPS_PROXY=http://name:password@proxy.example:3128",
  }),
});

/** Errors of undici's parser have a name but no code. */
function codeOf(error: SystemError): string {
  if (typeof error.code === "string") return error.code;
  return error.name === "HTTPParserError" ? "HPE" : "";
}

/** The first error in the chain of causes that has a code. */
function innermost(error: Error): SystemError {
  let current: unknown = error;
  while (current instanceof Error) {
    if (current instanceof AggregateError && current.errors.length > 0) current = current.errors[0];
    else if (codeOf(current) !== "") return current;
    else current = current.cause;
  }
  return error;
}

/** The error for a request whose response is missing or ended early; `unknown`: it may have had an effect. */
export const networkFailure = (
  what: "no response" | "response truncated",
  { words, final, hint }: NetworkErrorDetails,
  { request, unknown, cause }: { request: HttpRequest; unknown: boolean; cause: Error },
): CliError =>
  new CliError("network", `${what} from ${new URL(request.url).origin}: ${words}`, {
    cause,
    retryable: !final && !unknown,
    sideEffect: unknown ? "unknown" : "none",
    hint: [unknown && checkBeforeRetrying, hint].filter(Boolean).join("; ") || undefined,
  });
