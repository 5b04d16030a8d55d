import { expect, test } from "vitest";
import { newSecrets, withoutKeys } from "../../src/redact/keys.ts";

const key = "dataset-ä/B";
const { masked } = newSecrets({ KB_KEY: key });

test.each([
  ["plain", key],
  ["in another case", "DATASET-Ä/b"],
  ["percent-encoded", "dataset-%C3%A4%2FB"],
  ["percent-encoded in lower case", "dataset-%c3%a4%2fB"],
  ["in JSON", String.raw`dataset-\u00e4\/B`],
  ["in JSON in JSON", String.raw`dataset-\\u00e4\\/B`],
  ["in base64", "ZGF0YXNldC3DpC9C"],
])("a key %s is masked", (_, spelling) => {
  expect(masked(`key=${spelling}!`)).toBe("key=****!");
});

test("a key in base64 is masked at each offset, but for characters it shares", () => {
  for (const user of ["", "a", "ab"]) {
    const text = Buffer.from(`${user}${key}`).toString("base64");
    expect(masked(`Basic ${text}`)).toMatch(/^Basic .{0,3}\*{4}.{0,2}=*$/);
  }
  const url = newSecrets({ KB_KEY: "???>>>???>>>" });
  expect(url.masked(Buffer.from("???>>>???>>>").toString("base64url"))).toBe("****");
});

test.each([
  ["dataset-0123456789", "cut: dataset-01234567", "cut: ****"],
  ["dataset-0123456789", "short: dataset-0123456", "short: dataset-0123456"],
  ["dataset-0123456789", "dataset-0123456789dataset-0123456789", "********"],
  ["a b c d e f", "the a b c d e f", "the ****"],
  ["abcde", "abcde", "abcde"],
  ["😀-secret", "the 😀-secret", "the ****"],
])("of %j, %j becomes %j", (secret, text, expected) => {
  const secrets = newSecrets({});
  secrets.learn(secret);
  expect(secrets.masked(text)).toBe(expected);
});

test.each([
  [{ HTTPS_PROXY: "http://ann:pass%40word@proxy:1" }, "pass@word pass%40word", "**** ****"],
  [{ http_proxy: "http://token-0123@proxy:1" }, "token-0123", "****"],
  [{ DIFY_API_KEY: "app-012345" }, "app-012345", "****"],
  [{ OTHER: "app-012345" }, "app-012345", "app-012345"],
])("with environment %j, %j becomes %j", (env, text, expected) => {
  expect(newSecrets(env).masked(text)).toBe(expected);
});

test.each([
  ["app-app-echo1", "app-****"],
  ["app-echo app-echo1 app-echo12 app-ech", "app-echo **** ****2 app-ech"],
  ["app-review1app-echo1", "********"],
])("keys that begin alike: %s", (text, expected) => {
  const secrets = newSecrets({ KB_APP_KEY: "app-echo1", KB_KEY: "app-review1" });
  expect(secrets.masked(text)).toBe(expected);
});

test("child processes get the environment without keys", () => {
  expect(withoutKeys({ KB_KEY: "a", kb_app_key: "b", PATH: "/bin" })).toEqual({ PATH: "/bin" });
});
