import { CliError } from "../errors.ts";
import { checkBeforeRetrying } from "./api-error.ts";
import type { HttpRequest } from "./request.ts";

/** What an error of the network means. */
export interface NetworkErrorDetails {
  /** In plain words. */
  readonly words: string;
  /** The request had not been read: any row may be repeated. */
  readonly unsent: boolean;
  /** Repeating cannot help. */
  readonly final: boolean;
  readonly hint?: string | undefined;
}

/** What an error of sockets and of undici tells beside its message. */
type Told = Error & {
  readonly code?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly hostname?: unknown;
  readonly syscall?: unknown;
};

interface Kind extends Partial<Omit<NetworkErrorDetails, "words">> {
  readonly codes: RegExp;
  readonly words: string | ((error: Told, code: string) => string);
}

const unknownName: Omit<Kind, "codes"> = {
  words: ({ hostname }) => `the host name ${String(hostname)} is not known (DNS)`,
  unsent: true,
  hint: "check the base URL and the network",
};

/** The first whose codes fit counts. Addresses and names are told: they may be those of a proxy. */
const kinds: readonly Kind[] = [
  {
    codes: /^ECONNREFUSED$/,
    words: ({ address, port }) =>
      `nothing listens at ${String(address)}:${String(port)} (connection refused)`,
    unsent: true,
    hint: "is the server running, and the base URL right?",
  },
  { codes: /^ENOTFOUND$/, ...unknownName, final: true },
  { codes: /^EAI_\w+$/, ...unknownName },
  {
    codes: /^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/,
    words: "no connection in time",
    unsent: true,
    hint: "raise --connect-timeout, or check network and proxy",
  },
  {
    codes: /^(EHOSTUNREACH|ENETUNREACH)$/,
    words: "the host cannot be reached",
    unsent: true,
    hint: "check network and proxy",
  },
  {
    codes: /ALTNAME|HOSTNAME_MISMATCH/,
    words: "the server's certificate is made out to another host",
    unsent: true,
    final: true,
    hint: "check the host of the base URL; --ca-file does not help here",
  },
  {
    codes: /CERT_(HAS_EXPIRED|NOT_YET_VALID)/,
    words: (_, code) => `the server's certificate is out of date (${code})`,
    unsent: true,
    final: true,
    hint: "its operator has to renew it; --ca-file does not help here",
  },
  {
    codes: /^(?!ERR_SSL_).*(CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|DEPTH_ZERO)/,
    words: (_, code) => `the server's certificate is not trusted (${code})`,
    unsent: true,
    final: true,
    hint: "give your certificate authority with --ca-file or NODE_EXTRA_CA_CERTS",
  },
  {
    codes: /^(EPROTO|ERR_SSL_\w*(VERSION|PROTOCOL|PACKET_LENGTH|HANDSHAKE|HTTP_REQUEST)\w*)$/,
    words: (_, code) => `no TLS could be agreed on (${code})`,
    unsent: true,
    final: true,
    hint: "does the server speak plain http there? then the base URL begins with http://",
  },
  {
    codes: /^UND_ERR_(HEADERS|BODY)_TIMEOUT$/,
    words: "the server went silent",
    hint: "raise --idle-timeout; a stock server serves ten connections and lets others wait",
  },
  {
    codes: /^UND_ERR_HEADERS_OVERFLOW$/,
    words: "the headers of the answer are too large",
    final: true,
    hint: "something on the way may add them; the base URL may be wrong",
  },
  {
    codes: /^HPE/,
    words: ({ message }) => `what came is not HTTP: ${message}`,
    hint: "check whether the base URL begins with http:// or https://, and its port",
  },
  // Which of these comes first is chance; they mean the same.
  { codes: /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, words: "the connection broke" },
  { codes: /^Z_BUF_ERROR$/, words: "it ends before its packing does" },
  {
    codes: /^(E[A-Z0-9]+|UND_ERR_\w+|ERR_SSL_\w+)$/,
    words: (_, code) => `the connection broke (${code})`,
  },
];

/** What an error of sockets, of undici or of its parser means; undefined for anything else that is thrown. */
export function networkError(thrown: Error): NetworkErrorDetails | undefined {
  if (codeOf(thrown) === "ERR_TUNNEL" && thrown.cause instanceof Error) {
    const failure = networkError(thrown.cause);
    return (
      failure && { ...failure, words: `no way through the proxy: ${failure.words}`, ...tunnel }
    );
  }
  const error = innermost(thrown);
  const code = codeOf(error);
  const refused = code === "UND_ERR_ABORTED" && /Proxy response \((\d+)\)/.exec(error.message);
  if (refused) return refusedByProxy(Number(refused[1]));
  // What fails before a connection stands can also end one that stood.
  const stood = error.syscall === "read" || error.syscall === "write";
  const kind = kinds.find(({ codes, unsent }) => codes.test(code) && !(unsent && stood));
  if (kind === undefined) return undefined;
  const { words, unsent = false, final = false, hint } = kind;
  return { words: typeof words === "string" ? words : words(error, code), unsent, final, hint };
}

/** No tunnel was opened, so nothing went through it. */
const tunnel = {
  unsent: true,
  hint: "check HTTPS_PROXY and HTTP_PROXY; hosts in NO_PROXY are reached without them",
};

const refusedByProxy = (status: number): NetworkErrorDetails => ({
  ...tunnel,
  words: `the proxy refuses to connect (${status})`,
  final: ![502, 503, 504].includes(status),
  ...(status === 407 && {
    hint: "give it a name and a password: HTTPS_PROXY=http://name:password@proxy.example:3128",
  }),
});

/** The parser's errors have a name, but no code. */
const codeOf = (error: Told): string =>
  typeof error.code === "string" ? error.code : error.name === "HTTPParserError" ? "HPE" : "";

/** The error that tells the cause: the first on the way down that has a code. */
function innermost(error: Error): Told {
  let at: unknown = error;
  while (at instanceof Error) {
    if (at instanceof AggregateError && at.errors.length > 0) at = at.errors[0];
    else if (codeOf(at) !== "" && codeOf(at) !== "UND_ERR_PRX_TLS") return at;
    else at = at.cause;
  }
  return error;
}

/** The error for a request that got no answer, or (`cut`) half of one. */
export function unreachable(
  failure: NetworkErrorDetails,
  request: HttpRequest,
  writes: boolean,
  cause: Error,
  cut = false,
): CliError {
  const { origin } = new URL(request.url);
  const unknown = writes && (cut || !failure.unsent);
  return new CliError(
    "network",
    `${cut ? "the answer broke off" : "no answer"} from ${origin}: ${failure.words}`,
    {
      cause,
      retryable: !failure.final && !unknown,
      sideEffect: unknown ? "unknown" : "none",
      hint: unknown ? checkBeforeRetrying : failure.hint,
    },
  );
}
