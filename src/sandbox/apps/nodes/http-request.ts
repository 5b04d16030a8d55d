import { variableAt } from "../records/templates.ts";
import { type NodeContext, type NodeResult, result, wait } from "./node.ts";
import type { NodeOf } from "../definitions/node-types.ts";

/** Imitates a request: waits and answers with a fixed body, or fails; nothing is sent. */
export async function executeRequest(
  context: NodeContext,
  node: NodeOf<"http-request">,
): Promise<NodeResult> {
  const { sandbox } = node;
  const { host, pathname } = new URL(node.url);
  const method = node.method.toUpperCase();
  const process = { request: `${method} ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n` };
  if (sandbox.error !== undefined) {
    const failure = { type: "HttpRequestNodeError", outputs: { status_code: 0, headers: {} } };
    return result({ process, status: "failed", error: sandbox.error, failure });
  }
  const { body } = sandbox;
  const seconds = variableAt(context.run.progress.variables, sandbox.seconds.value_selector);
  await wait(context, typeof seconds === "number" ? seconds : sandbox.seconds.default);
  const headers = {
    server: "sandbox",
    date: context.clock.now().toUTCString(),
    "content-length": String(body.length),
  };
  return result({ process, outputs: { status_code: 200, body, headers, files: [] } });
}
