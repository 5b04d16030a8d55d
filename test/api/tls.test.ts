import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:tls";
import { expect, test } from "vitest";
import { built } from "../lib/built.ts";
import { certificate, pathOf } from "../certificates/read.ts";
import { emptyPage, http, lines, rawServer, say } from "../lib/raw-server.ts";

const { read, create } = lines;
const respond = say(http(200, emptyPage));

/** A server that presents this certificate. */
const secure = async (name: string) => {
  const server = await rawServer([respond], {
    serve: (served) => createServer(certificate(name), served),
  });
  return { ...server, baseUrl: server.baseUrl.replace("http:", "https:") };
};

test("--ca-file and NODE_EXTRA_CA_CERTS add a certificate authority", async () => {
  const { baseUrl, requests } = await secure("trusted");
  const extra = { NODE_EXTRA_CA_CERTS: pathOf("authority") };
  const ran = await Promise.all([
    built([...read, "--ca-file", pathOf("authority")], { KB_BASE_URL: baseUrl }),
    built(read, { KB_BASE_URL: baseUrl, ...extra }),
    built([...read, "--ca-file", pathOf("self-signed")], { KB_BASE_URL: baseUrl, ...extra }),
  ]);
  for (const one of ran) expect(one).toEqual({ exit: 0, out: "[]\n", err: "" });
  expect(requests).toHaveLength(3);
});

test.concurrent.each([
  ["trusted", "is not trusted", "pass your certificate authority with --ca-file"],
  ["self-signed", "is not trusted", "pass your certificate authority with --ca-file"],
  ["expired", "is expired or not yet valid", "--ca-file does not help here"],
  ["other-host", "is for another host", "--ca-file does not help here"],
])(
  "the certificate %s %s: nothing is sent, and no changes were made",
  async (name, words, hint) => {
    const { baseUrl, requests } = await secure(name);
    const known =
      name === "trusted" || name === "self-signed" ? [] : ["--ca-file", pathOf("authority")];
    const ran = await built([...create, ...known, "--json"], { KB_BASE_URL: baseUrl });
    expect(ran, ran.err).toMatchObject({ exit: 11, out: "" });
    expect(ran.err).toContain(words);
    expect(ran.err).toContain(hint);
    expect(ran.err).toContain('"changed":"nothing"');
    expect(requests).toEqual([]);
  },
);

test("--ca-file with a file without a certificate is a usage error", async () => {
  const ran = await Promise.all(
    [pathOf("key"), pathOf("nothing")].map((path) =>
      built([...read, "--ca-file", path], { KB_BASE_URL: "https://kb.example/v1" }),
    ),
  );
  expect(ran.map(({ exit }) => exit)).toEqual([2, 2]);
  expect(ran[0]?.err).toContain("does not contain a certificate");
  expect(ran[1]?.err).toContain("failed to read the certificate file");
});

test("https to a plain HTTP server suggests http://, and http to a TLS server is a network error", async () => {
  const plain = await rawServer([respond], { serve: () => createPlainServer() });
  const tls = await secure("trusted");
  const [https, http] = await Promise.all([
    built([...create, "--json"], { KB_BASE_URL: plain.baseUrl.replace("http:", "https:") }),
    built([...create, "--json"], { KB_BASE_URL: tls.baseUrl.replace("https:", "http:") }),
  ]);
  expect(https, https.err).toMatchObject({ exit: 11, out: "" });
  expect(https.err).toContain("TLS handshake failed");
  expect(https.err).toContain("must start with http://");
  expect(https.err).toContain('"changed":"nothing"');
  expect(http, http.err).toMatchObject({ exit: 11, out: "" });
  expect(tls.requests).toEqual([]);
});
