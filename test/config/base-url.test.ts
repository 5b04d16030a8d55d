import { expect, test } from "vitest";
import { baseUrlOf, withScheme } from "../../src/config/profiles.ts";
import { cli } from "../lib/support.ts";

test.each([
  ["https://example.com", "https://example.com/v1"],
  ["https://example.com/", "https://example.com/v1"],
  ["https://example.com/v1//", "https://example.com/v1"],
  ["https://EXAMPLE.com:443/dify/v1", "https://example.com/dify/v1"],
  ["http://127.0.0.1:5001", "http://127.0.0.1:5001/v1"],
  ["http://[::1]/v1", "http://[::1]/v1"],
  ["http://app.localhost/v1", "http://app.localhost/v1"],
])("the base URL of %s is %s", (text, expected) => {
  expect(baseUrlOf(text, false)).toBe(expected);
});

test.each([
  ["a b", 'invalid base URL "a b": not a URL'],
  ["example.com", 'invalid base URL "example.com": it has no http:// or https://'],
  ["localhost:9", 'invalid base URL "localhost:9": it has no http:// or https://'],
  ["ftp://example.com", 'invalid base URL "ftp://example.com": unsupported scheme ftp:'],
  ["https://ann:pw@example.com", 'invalid base URL "https://…": contains a user name or password'],
  ["https://example.com?key=x", 'invalid base URL "https://…": contains a query or fragment'],
  [
    "http://example.com/v1",
    'invalid base URL "http://example.com/v1": plain HTTP would send the key unencrypted',
  ],
  [
    "http://127.0.0.1.example.com",
    'invalid base URL "http://127.0.0.1.example.com": plain HTTP would send the key unencrypted',
  ],
])("%s is rejected", (text, message) => {
  expect(() => baseUrlOf(text, false)).toThrow(message);
});

test("the hint has the address with its scheme", async () => {
  const { err } = await cli(["kb", "list"], {
    env: { KB_BASE_URL: "localhost:9", KB_KEY: "dataset-x" },
  });
  expect(err).toContain("hint: use http://localhost:9\n");
});

test("--insecure-http allows plain HTTP", () => {
  expect(baseUrlOf("http://example.com", true)).toBe("http://example.com/v1");
});

test.each([
  ["example.com", "https://example.com"],
  ["example.com:8080/v1", "https://example.com:8080/v1"],
  ["localhost:5001", "http://localhost:5001"],
  ["127.0.0.1", "http://127.0.0.1"],
  ["[::1]:5001/v1", "http://[::1]:5001/v1"],
  ["http://example.com", "http://example.com"],
  ["FTP://example.com", "FTP://example.com"],
  ["127.0.0.1.example.com", "https://127.0.0.1.example.com"],
  ["exa mple", "https://exa mple"],
])("%s as it is typed is completed to %s", (text, expected) => {
  expect(withScheme(text)).toBe(expected);
});
