import { expect, test } from "vitest";
import { networkError } from "../../src/api/network-error.ts";
import { emptyPage, http, keys, lines, rawServer, say } from "../lib/raw-server.ts";
import { cli } from "../lib/support.ts";

const { read, rename, create } = lines;

// A machine without ::1 fails here, with the error of listening.
test("a base URL of IPv6 is reached", async () => {
  const server = await rawServer([say(http(200, emptyPage))], { host: "::1" });
  expect(server.baseUrl).toMatch(/^http:\/\/\[::1\]:\d+\/v1$/);
  const ran = await cli(read, { env: { ...keys, KB_BASE_URL: server.baseUrl } });
  expect(ran).toMatchObject({ exit: 0, out: "[]\n" });
  expect(server.requests).toHaveLength(1);
});

test("a name that nobody has is told, also by a create", async () => {
  const env = { ...keys, KB_BASE_URL: "https://nobody.invalid/v1" };
  for (const line of [read, create]) {
    const ran = await cli(line, { env });
    expect(ran.exit).toBe(11);
    expect(ran.err).toContain("host not found: nobody.invalid (DNS)");
    expect(ran.err).not.toContain("unknown whether");
  }
});

test("nobody listening is told with the address, and everything is tried again", async () => {
  for (const line of [read, rename, create]) {
    const waits: number[] = [];
    const ran = await cli(line, {
      env: { ...keys, KB_BASE_URL: "http://127.0.0.1:9/v1" },
      waits,
    });
    expect(ran.exit).toBe(11);
    expect(ran.err).toContain("connection refused: 127.0.0.1:9");
    expect(ran.err).not.toContain("unknown whether");
    expect(waits).toEqual([250, 500, 1000]);
  }
});

// No server can make these: the routes between must fail.
test.each(["ETIMEDOUT", "EHOSTUNREACH", "ENETUNREACH"])(
  "%s means that nothing was sent only where no connection stood yet",
  (code) => {
    const failed = (syscall: string) =>
      networkError(Object.assign(new Error(), { code, syscall }))?.unsent;
    expect(["connect", "read", "write"].map(failed)).toEqual([true, false, false]);
  },
);
