// One rename per row of a file, compared with a loop that sends the same requests.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, kb, loop, measured, openSandbox, result } from "./tools.mjs";

const [count, lanes] = [10_000, 3];

export async function bulk() {
  const { address, env, stop } = await openSandbox();
  const { origin } = new URL(address.base_url);
  const lanesOver = (method, bodyOf, first = 0, last = count) => `
    const names = ${JSON.stringify(join(folder, "tags.json"))};
    const ids = ${method === "POST" ? "[]" : 'JSON.parse(require("node:fs").readFileSync(names))'};
    let next = ${first};
    await Promise.all(Array.from({ length: ${lanes} }, async () => {
      for (let index = next++; index < ${last}; index = next++) {
        const { statusCode, body } = await agent.request({
          origin: ${JSON.stringify(origin)}, path: "/v1/datasets/tags", method: "${method}",
          headers: { authorization: ${JSON.stringify(`Bearer ${address.key}`)}, "content-type": "application/json" },
          body: JSON.stringify(${bodyOf}),
        });
        const answer = await body.json();
        if (statusCode !== 200) throw new Error(JSON.stringify(answer));
        ids[index] = answer.id;
      }
    }));
    require("node:fs").writeFileSync(names, JSON.stringify(ids));`;
  await measured(["-e", loop(lanesOver("POST", '{ name: "tag " + index }'))]);
  const ids = JSON.parse(readFileSync(join(folder, "tags.json"), "utf8"));
  const file = join(folder, "renames.csv");
  writeFileSync(file, `tag,name\n${ids.map((id, index) => `${id},renamed ${index}\n`).join("")}`);
  // The bare loop runs half before and half after, because the speed of a machine drifts.
  const bodyOf = '{ tag_id: ids[index], name: "bare " + index }';
  const renames = (first, last) => measured(["-e", loop(lanesOver("PATCH", bodyOf, first, last))]);
  const before = await renames(0, count / 2);
  const line = [kb, "tag", "rename", "--each", file, "--concurrency", String(lanes), "-q"];
  const each = await measured(line, env);
  const bare = before.seconds + (await renames(count / 2, count)).seconds;
  await stop();
  result("bare loop, renames", count / bare, "per second");
  result("kb tag rename --each", count / each.seconds, "per second");
  result("  of the bare loop", (100 * bare) / each.seconds, "%", { atLeast: 80 });
}
