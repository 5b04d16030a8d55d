import { expect, test } from "vitest";
import { proxiesOf } from "../../src/host/dispatcher.ts";

const none = { httpProxy: "", httpsProxy: "", noProxy: "" };

test.each([
  [{}, undefined],
  [{ NO_PROXY: "a.example" }, undefined],
  [{ HTTP_PROXY: "http://p:3128" }, { ...none, httpProxy: "http://p:3128" }],
  [{ HTTPS_PROXY: "p:3128" }, { ...none, httpsProxy: "http://p:3128" }],
  [
    { http_proxy: "http://lower", HTTP_PROXY: "http://upper" },
    { ...none, httpProxy: "http://lower" },
  ],
  [
    { HTTP_PROXY: "http://p", NO_PROXY: "a.example, ::1 b.example" },
    { ...none, httpProxy: "http://p", noProxy: "a.example,::1,b.example" },
  ],
])("the proxies of %j", (env, expected) => {
  expect(proxiesOf(env)).toEqual(expected);
});

test.each(["socks5://p:1080", "http://user:50%@p", "http://"])(
  "%j is rejected without quoting it",
  (url) => {
    expect(() => proxiesOf({ HTTP_PROXY: url })).toThrow(/^HTTP_PROXY is not a valid proxy URL$/);
  },
);
