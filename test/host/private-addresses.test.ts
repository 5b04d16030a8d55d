import { createServer } from "node:http";
import { expect, test } from "vitest";
import { createDispatcher } from "../../src/host/dispatcher.ts";
import { isPublicAddress } from "../../src/lib/addresses.ts";
import { listening } from "../lib/listening.ts";

test.each([
  ["8.8.8.8", true],
  ["172.32.0.1", true],
  ["2001:4860:4860::8888", true],
  ["docs.example.com", true],
  ["127.0.0.1", false],
  ["10.1.2.3", false],
  ["172.31.255.255", false],
  ["192.168.1.1", false],
  ["169.254.169.254", false],
  ["100.64.0.1", false],
  ["0.0.0.0", false],
  ["255.255.255.255", false],
  ["[::1]", false],
  ["::ffff:10.0.0.1", false],
  ["::ffff:a00:1", false],
  ["fd00::1", false],
  ["fe80::1", false],
  ["localhost", false],
  ["app.localhost", false],
  ["wiki", false],
  ["printer.local", false],
])("%s can be reached from everywhere: %s", (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});

test("a name that leads to a private address is not connected to with publicOnly", async () => {
  const origin = await listening(createServer((_, response) => response.end("secret")));
  const named = origin.replace("127.0.0.1", "localhost").replace("/v1", "");
  const get = async (publicOnly: boolean) => {
    const dispatcher = await createDispatcher({ connectTimeout: 5000, publicOnly }, {});
    const response = await dispatcher.request({ origin: named, path: "/", method: "GET" });
    return response.body.text();
  };
  await expect(get(true)).rejects.toMatchObject({ code: "ERR_PRIVATE_ADDRESS" });
  expect(await get(false)).toBe("secret");
});
