import { expect, test } from "vitest";
import { networkError } from "../../src/api/network-error.ts";
import { emptyPage, http, keys, lines, rawServer, say } from "../lib/raw-server.ts";
import { cli } from "../lib/support.ts";

const { read, rename, create } = lines;

// Fails with the error of listen() on a machine without ::1.
test("a base URL with an IPv6 address works", async () => {
  const server = await rawServer([say(http(200, emptyPage))], { host: "::1" });
  expect(server.baseUrl).toMatch(/^http:\/\/\[::1\]:\d+\/v1$/);
  const ran = await cli(read, { env: { ...keys, KB_BASE_URL: server.baseUrl } });
  expect(ran).toMatchObject({ exit: 0, out: "[]\n" });
  expect(server.requests).toHaveLength(1);
});

test("an unknown host name is a network error, and no changes were made", async () => {
  const env = { ...keys, KB_BASE_URL: "https://nobody.invalid/v1" };
  for (const line of [read, create]) {
    const ran = await cli(line, { env });
    expect(ran.exit).toBe(11);
    expect(ran.err).toContain("host not found: nobody.invalid (DNS)");
    expect(ran.err).not.toContain("unknown whether");
  }
});

test("a refused connection names the address, and every request is retried", async () => {
  for (const line of [read, rename, create]) {
    const waits: number[] = [];
    const ran = await cli(line, {
      env: { ...keys, KB_BASE_URL: "http://127.0.0.1:9/v1" },
      waits,
    });
    expect(ran.exit).toBe(11);
    expect(ran.err).toContain("connection refused: 127.0.0.1:9");
    expect(ran.err).toContain("check that the server is running and the base URL is correct");
    expect(ran.err).not.toContain("unknown whether");
    expect(waits).toEqual([250, 500, 1000]);
  }
});

// A test server cannot cause these errors: they come from routers on the way.
test.each(["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"])(
  "%s means that nothing was sent only if it occurs while connecting",
  (code) => {
    const failed = (syscall: string) =>
      networkError(Object.assign(new Error(), { code, syscall }))?.unsent;
    expect(["connect", "read", "write"].map(failed)).toEqual([true, false, false]);
  },
);

// Nor this one: the process would have no descriptor left for its answer.
test.each(["EMFILE", "ENFILE"])("%s is named as too many open files", (code) => {
  expect(networkError(Object.assign(new Error(), { code, syscall: "connect" }))?.words).toMatch(
    /^too many open files/,
  );
});
