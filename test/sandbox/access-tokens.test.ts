import { expect, test } from "vitest";
import { newestServer, nextServer } from "../../src/lib/version.ts";
import { appId } from "../../src/sandbox/protocol/ids.ts";
import { testSandbox } from "../lib/sandbox.ts";

// Access tokens of the sandbox imitate the newest source, which no recording shows (server §2.2).

const next = await testSandbox({ server: nextServer });
const made = async (name: string) =>
  (
    await next.done(["kb", "create", name, "--indexing-technique", "economy", "-o", "name"])
  ).out.trim();
const [open, shut] = [await made("Open"), await made("Shut")];

interface Sent {
  readonly key: string;
  readonly app?: string;
  readonly path: string;
}

/** Status, code and message of the response to a GET. */
async function get({ key, app, path }: Sent, { origin } = next.sandbox) {
  const id = app === undefined ? {} : { "X-Dify-App-ID": app };
  const response = await fetch(`${origin}/v1${path}`, {
    headers: { authorization: `Bearer ${key}`, ...id },
  });
  const { code, message } = (await response.json()) as { code?: string; message?: string };
  return response.status === 200 ? [200] : [response.status, code, message];
}

const needsId = "App ID is required when a resource access token is bound to multiple apps.";
const notThisBase = "Resource access token is not allowed to access this knowledge base.";

test.each<[Sent, readonly unknown[]]>([
  [{ key: "sk-echo,chat", path: "/info" }, [400, "bad_request", needsId]],
  [{ key: "sk-echo,chat", app: appId("chat"), path: "/info" }, [200]],
  [
    { key: "sk-echo,chat", app: appId("slow"), path: "/info" },
    [403, "forbidden", "Resource access token is not allowed to access this app."],
  ],
  [{ key: "sk-echo", path: "/info" }, [200]],
  [{ key: "sk-all", app: appId("echo"), path: "/info" }, [200]],
  [
    { key: "sk-revoked", path: "/info" },
    [401, "unauthorized", "Resource access token is invalid."],
  ],
  [{ key: `sk-${open}`, path: `/datasets/${open}` }, [200]],
  [{ key: `sk-${open}`, path: `/datasets/${shut}` }, [403, "forbidden", notThisBase]],
  [{ key: `sk-${open}`, path: "/datasets" }, [200]],
  [{ key: "sk-echo", path: "/datasets" }, [403, "forbidden", notThisBase]],
])("%j → %j", async (sent, expected) => {
  expect(await get(sent)).toEqual(expected);
});

test("servers that were seen know no such key", async () => {
  const { sandbox } = await testSandbox({ server: newestServer });
  expect(await get({ key: "sk-all", path: "/datasets" }, sandbox)).toEqual([
    401,
    "unauthorized",
    "Access token is invalid",
  ]);
});
