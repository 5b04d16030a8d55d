import { connect } from "node:net";
import type { Socket } from "node:net";
import { createServer } from "node:tls";
import { expect, test } from "vitest";
import { createDispatcher } from "../../src/host/dispatcher.ts";
import { built } from "../lib/built.ts";
import { certificate, pathOf } from "../certificates/read.ts";
import {
  emptyPage,
  createdKb,
  http,
  keys,
  lines,
  rawServer,
  reset,
  say,
} from "../lib/raw-server.ts";
import { rareTest } from "../lib/sampled.ts";
import { cli } from "../lib/support.ts";
import type { RawServer } from "../lib/raw-server.ts";

const { read, create } = lines;
const password = "s3cret/p@ss";
const written = encodeURIComponent(password);
const encoded = Buffer.from(`corp:${password}`).toString("base64");

/** Runs a command in this process with the dispatcher of the real host. */
const run = (argv: readonly string[], env: Readonly<Record<string, string>>) =>
  cli(argv, {
    env: { ...keys, ...env },
    around: (host) => ({
      ...host,
      dispatcher: (settings) => createDispatcher(settings, host.env),
    }),
  });

const portOf = ({ baseUrl }: RawServer) => Number(new URL(baseUrl).port);

/** A proxy that opens tunnels to this server, whichever host is requested. */
const proxyTo = (server: RawServer) =>
  rawServer([
    (socket, request) => {
      tunnels.set(server, request);
      const target = connect(portOf(server), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.removeAllListeners("data").pipe(target).pipe(socket);
      });
      target.on("error", () => socket.destroy());
    },
  ]);
/** The last request for a tunnel to each server. */
const tunnels = new WeakMap<RawServer, string>();

const at = (proxy: RawServer, login = "") => `http://${login}127.0.0.1:${portOf(proxy)}`;
const plain = () => rawServer([say(http(200, emptyPage))]);
const secure = () =>
  rawServer([say(http(200, emptyPage))], {
    serve: (served) => createServer(certificate("trusted"), served),
  });

test.concurrent.each([
  ["HTTP_PROXY", "http://kb.example/v1", "kb.example:80"],
  ["http_proxy", "http://kb.example/v1", "kb.example:80"],
  ["HTTPS_PROXY", "https://kb.example:8443/v1", "kb.example:8443"],
  ["https_proxy", "https://kb.example/v1", "kb.example:443"],
  ["HTTP_PROXY", "https://kb.example/v1", "kb.example:443"],
])("%s sends requests to %s through a tunnel to %s", async (name, url, authority) => {
  const server = await (url.startsWith("https") ? secure() : plain());
  const proxy = await proxyTo(server);
  const ran = await run([...read, "--insecure-http", "--ca-file", pathOf("authority")], {
    KB_BASE_URL: url,
    [name]: at(proxy),
    [name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase()]: "",
  });
  expect(ran).toEqual({ exit: 0, out: "[]\n", err: "" });
  expect(proxy.requests).toEqual([`CONNECT ${authority} HTTP/1.1`]);
  expect(server.requests).toEqual(["GET /v1/datasets?include_all=true&page=1&limit=20 HTTP/1.1"]);
  expect(tunnels.get(server)).not.toContain("dataset-sandbox"); // the key is sent only to the server
});

test("the proxy's password is sent only to the proxy and never printed", async () => {
  const server = await plain();
  const proxy = await proxyTo(server);
  const proxied = { HTTP_PROXY: at(proxy, `corp:${written}@`) };
  const line = [...read, "-vvv", "--retries", "0"];
  const ran = await run(line, { KB_BASE_URL: server.baseUrl, ...proxied });
  expect(ran).toMatchObject({ exit: 0, out: "[]\n" });
  expect(tunnels.get(server)).toContain(`proxy-authorization: Basic ${encoded}\r\n`);
  const refusing = await rawServer([say(http(407, "", { "proxy-authenticate": "Basic" }))]);
  const refused = await Promise.all(
    [
      at(refusing, `corp:${written}@`),
      `http://corp:${written}@127.0.0.1:9`,
      `http://corp:${written}@[`,
    ].map((proxy) => run(line, { KB_BASE_URL: server.baseUrl, HTTP_PROXY: proxy })),
  );
  expect(refused.map(({ exit }) => exit)).toEqual([11, 11, 2]);
  const shown = [ran, ...refused].map(({ out, err }) => out + err).join("");
  for (const secret of ["s3cret", written, encoded]) expect(shown).not.toContain(secret);
});

const proxyFailures: readonly [string, (socket: Socket) => void, number, string, string][] = [
  [
    "requires a password",
    say(http(407, "")),
    1,
    "rejected the connection (407)",
    "a name and a password",
  ],
  ["forbids the host", say(http(403, "<html>")), 1, "rejected the connection (403)", "NO_PROXY"],
  [
    "does not reach the server",
    say(http(502, "<html>")),
    2,
    "rejected the connection (502)",
    "NO_PROXY",
  ],
  ["resets the connection", reset, 2, "proxy connection failed: connection reset", "NO_PROXY"],
  [
    "does not respond",
    () => {},
    2,
    "proxy connection failed: no data received within the idle timeout",
    "NO_PROXY",
  ],
  [
    "is not a proxy",
    say("SSH-2.0\r\n\r\n"),
    2,
    "proxy connection failed: invalid HTTP response",
    "NO_PROXY",
  ],
];
test.concurrent.each(proxyFailures)(
  "a proxy that %s: the server receives nothing, and no changes were made",
  async (_, respond, attempts, words, hint) => {
    const server = await rawServer([say(http(200, createdKb))]);
    const proxy = await rawServer([respond]);
    const quick = ["--retries", "1", "--connect-timeout", "0.2s", "--json"];
    const env = { KB_BASE_URL: server.baseUrl, HTTP_PROXY: at(proxy) };
    const ran = await run([...create, ...quick], env);
    expect(ran, ran.err).toMatchObject({ exit: 11, out: "" });
    expect(ran.err).toContain(words);
    expect(ran.err).toContain(hint);
    expect(ran.err).toContain('"changed":"nothing"');
    expect(proxy.requests).toHaveLength(attempts);
    expect(server.requests).toEqual([]);
  },
);

test("a refused connection to the proxy is reported as the proxy's, not the server's", async () => {
  const env = { KB_BASE_URL: "https://kb.example/v1", HTTPS_PROXY: "http://127.0.0.1:9" };
  const ran = await run([...create, "--retries", "0"], env);
  expect(ran.exit).toBe(11);
  expect(ran.err).toContain("proxy connection failed: connection refused: 127.0.0.1:9");
  expect(ran.err).not.toContain("unknown whether");
});

test.concurrent.each([
  ["other-host", "the server's certificate is for another host", "--ca-file does not help here"],
  ["expired", "the server's certificate is expired or not yet valid", "its operator must renew it"],
  ["self-signed", "the server's certificate is not trusted", "pass your certificate authority"],
])("the certificate %s behind a proxy is the server's: %s", async (name, words, hint) => {
  const server = await rawServer([say(http(200, emptyPage))], {
    serve: (served) => createServer(certificate(name), served),
  });
  const proxy = await proxyTo(server);
  const env = { KB_BASE_URL: "https://127.0.0.1:8443/v1", HTTPS_PROXY: at(proxy), NO_PROXY: "" };
  const ran = await run([...create, "--retries", "1", "--ca-file", pathOf("authority")], env);
  expect(ran).toMatchObject({ exit: 11, out: "" });
  expect(ran.err).toContain(words);
  expect(ran.err).toContain(hint);
  expect(ran.err).not.toContain("unknown whether");
  expect(server.requests).toEqual([]);
  expect(proxy.requests).toHaveLength(1);
});

test.concurrent.each([
  ["other-host", "certificate is for another host"],
  ["self-signed", "certificate is not trusted"],
])("the certificate %s of a proxy fails the connection to it: %s", async (name, words) => {
  const proxy = await rawServer([reset], {
    serve: (served) => createServer(certificate(name), served),
  });
  const secured = at(proxy).replace("http", "https");
  const env = { KB_BASE_URL: "https://kb.example/v1", HTTPS_PROXY: secured };
  const ran = await run([...create, "--retries", "0", "--ca-file", pathOf("authority")], env);
  expect(ran).toMatchObject({ exit: 11, out: "" });
  expect(ran.err).toContain(`proxy connection failed: the server's ${words}`);
  expect(ran.err).toContain("check HTTPS_PROXY and HTTP_PROXY");
  expect(proxy.requests).toEqual([]);
});

test.concurrent.each([
  ["other.example, 127.0.0.1", "127.0.0.1"],
  ["*", "127.0.0.1"],
  ["::1", "::1"],
  ["[::1]", "::1"],
  ["0:0:0:0:0:0:0:1", "::1"],
  ["10.0.0.0/8,127.0.0.0/8", "127.0.0.1"],
  ["127.0.0.1/32", "127.0.0.1"],
  ["0.0.0.0/0", "127.0.0.1"],
  ["::ffff:127.0.0.0/104", "127.0.0.1"],
  ["fd00::/8 ::/64", "::1"],
  ["[::1]/128", "::1"],
])("NO_PROXY=%s connects to %s without the proxy", async (hosts, host) => {
  const server = await rawServer([say(http(200, emptyPage))], { host });
  const proxy = await proxyTo(server);
  const env = { KB_BASE_URL: server.baseUrl, HTTP_PROXY: at(proxy), NO_PROXY: hosts };
  expect(await run(read, env)).toMatchObject({ exit: 0, out: "[]\n" });
  expect(proxy.requests).toEqual([]);
});

test.concurrent.each([
  "10.0.0.0/8",
  "128.0.0.0/1",
  "127.0.0.0/33",
  "127.0.0.0/",
  "127.0.0.0/8x",
  "127.0.0/8",
  "/8",
  "fd00::/8",
  "fe80::1%lo/0",
])("NO_PROXY=%s does not list 127.0.0.1", async (hosts) => {
  const server = await plain();
  const proxy = await proxyTo(server);
  const env = { KB_BASE_URL: server.baseUrl, HTTP_PROXY: at(proxy), NO_PROXY: hosts };
  expect(await run(read, env)).toMatchObject({ exit: 0, out: "[]\n" });
  expect(proxy.requests).toHaveLength(1);
});

test.concurrent.each([
  ["HTTP_PROXY", "http://", "HTTP_PROXY is not a valid proxy URL"],
  ["HTTPS_PROXY", "socks5://127.0.0.1:1080", "HTTPS_PROXY is not a valid proxy URL"],
  ["https_proxy", "http://corp:50%@127.0.0.1:9", "HTTPS_PROXY is not a valid proxy URL"],
])("%s=%s is a usage error", async (name, value, words) => {
  const ran = await run(read, { KB_BASE_URL: "https://kb.example/v1", [name]: value });
  expect(ran).toMatchObject({ exit: 2, out: "" });
  expect(ran.err).toContain(words);
});

rareTest("commands run by kb sandbox ignore proxies", async () => {
  const line = ["kb", "sandbox", "--ephemeral", "--", "kb", "tag", "list", "-o", "json"];
  const env = { HTTP_PROXY: "http://127.0.0.1:9", no_proxy: "other.example", KB_RETRIES: "0" };
  const ran = await built(line, env);
  expect(ran, ran.err).toMatchObject({ exit: 0, out: "[]\n" });
});

test("the built program takes proxies from its environment, also without http://", async () => {
  const server = await plain();
  const proxy = await proxyTo(server);
  const env = { KB_BASE_URL: server.baseUrl, HTTP_PROXY: `127.0.0.1:${portOf(proxy)}` };
  expect(await built(read, env)).toMatchObject({ exit: 0, out: "[]\n" });
  expect(proxy.requests).toHaveLength(1);
});
