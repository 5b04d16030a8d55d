import { expect, test } from "vitest";
import { built } from "../lib/built.ts";
import { http, rawServer } from "../lib/raw-server.ts";

const list = '{"data":[{"id":"1","name":"a"}],"has_more":false,"total":1,"page":1,"limit":20}';
const server = await rawServer([(socket) => socket.end(http(200, list))]);
const env = { KB_BASE_URL: server.baseUrl };

test.each(["[range(1e9)] | length", "[repeat(1)]", 'reduce range(1e9) as $n (""; . + "xxxxxxxx")'])(
  "the filter %s runs out of memory and exits with an error message",
  async (filter) => {
    const ran = await built(["kb", "list", "-o", "json", "--jq", filter, "--timeout", "5m"], env);
    const { error } = JSON.parse(ran.err) as { error: Record<string, unknown> };
    expect(ran).toMatchObject({ exit: 1, out: "" });
    expect(error).toMatchObject({ message: "--jq: the filter ran out of memory", exit: 1 });
  },
);
