/** Suites against `kb sandbox` with applications that change, cache, or answer wrongly for a while. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { write } from "../../lib/directory.ts";
import { fixedApp, gateApp, gateRates, gateSuite } from "../../lib/gate-apps.ts";
import { type Environment, inSandbox } from "../../lib/in-sandbox.ts";
import { rareTest } from "../../lib/sampled.ts";
import { cli, type Ran, temporaryDirectory } from "../../lib/support.ts";

const folder = await temporaryDirectory();
const at = (name: string) => join(folder, name);
const rates = gateRates(6);
await write(folder, {
  "suite.yaml": gateSuite(rates),
  "good.yaml": gateApp(rates),
  "broken.yaml": gateApp(gateRates(6, { t4: 0 })),
  "flaky.yaml": gateApp(gateRates(6, { t4: 0.5 })),
  "cached.yaml": gateApp(rates, { cache: true, answers: 2 }),
  "fixed.yaml": fixedApp("Nonsense."),
});

interface Saved {
  readonly tests: readonly {
    readonly test: string;
    readonly verdict: string;
    readonly results: readonly {
      readonly status: string;
      readonly answer: string;
      readonly tokens: number;
    }[];
  }[];
}

/** Runs of the suite in one sandbox, each saved as `APP.json`, and requests to its control. */
interface Session {
  readonly suite: (app: string, ...flags: readonly string[]) => Promise<Ran & Saved>;
  readonly control: (line: string, body?: string) => Promise<Response>;
}

async function inSession(work: (session: Session) => Promise<void>): Promise<void> {
  const session = (env: Environment): Session => ({
    async suite(app, ...flags) {
      const file = at(`${app}.json`);
      const line = ["wf", "--app", app, "test", "run", at("suite.yaml"), "--repeat", "5"];
      const ran = await cli([...line, "--save", file, "-q", ...flags], { env, folder });
      return { ...ran, ...(JSON.parse(await readFile(file, "utf8")) as Saved) };
    },
    control(line, body) {
      const [method = "", path = ""] = line.split(" ");
      const url = new URL(`/_sandbox${path}`, env["KB_BASE_URL"]);
      return fetch(url, { method, ...(body !== undefined && { body }) });
    },
  });
  const apps = ["good", "broken", "flaky", "cached", "fixed"];
  const files = apps.flatMap((app) => ["--app-file", at(`${app}.yaml`)]);
  const ran = await inSandbox(["--seed", "3", ...files], (env) => work(session(env)));
  expect(ran).toEqual({ exit: 0, out: "", err: "" });
}

/** Passes of each test. */
const passes = ({ tests }: Saved) =>
  tests.map(({ results }) => results.filter(({ status }) => status === "passed").length);

/** The different answers to each test. */
const answers = ({ tests }: Saved) =>
  tests.map(({ results }) => [...new Set(results.map(({ answer }) => answer))]);

test("one test that breaks fails the run; a flaky one has both answers", async () => {
  await inSession(async ({ suite }) => {
    const before = await suite("good");
    expect([before.exit, passes(before)]).toEqual([0, [5, 5, 5, 5, 5, 5]]);
    const broken = await suite("broken", "--baseline", at("good.json"));
    expect(broken.exit, broken.err).toBe(14);
    expect(broken.tests.filter(({ verdict }) => verdict === "broken")).toMatchObject([
      { test: "t4" },
    ]);
    const flaky = passes(await suite("flaky"));
    expect(flaky.filter((count) => count < 5)).toEqual([flaky[3]]);
    expect(flaky[3]).toBeGreaterThan(0);
  });
});

test("an application that answers the same to everything fails each test", async () => {
  await inSession(async ({ suite }) => {
    await suite("good");
    const fixed = await suite("fixed", "--baseline", at("good.json"), "--confirm", "0");
    expect(fixed.exit, fixed.err).toBe(14);
    expect(answers(fixed)).toEqual(Array.from({ length: 6 }, () => ["Nonsense."]));
  });
});

test("a cache gives each test one answer in a run, and another run its own", async () => {
  await inSession(async ({ suite, control }) => {
    const before = await suite("cached");
    expect(answers(before).map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(answers(await suite("cached"))).toEqual(answers(before));
    await control("DELETE /cache");
    const after = await suite("cached");
    expect(answers(after).map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(answers(after)).not.toEqual(answers(before));
    expect(passes(after)).toEqual([5, 5, 5, 5, 5, 5]);
    const results = after.tests.flatMap((each) => each.results);
    expect(results.filter(({ tokens }) => !(tokens > 0))).toEqual([]);
    expect(results.filter(({ answer }) => answer.length < 40)).toEqual([]);
  });
});

rareTest("an outage is over after its requests, or its time", async () => {
  const faults = [
    { fault: "answer=No%20idea.", status: "failed" },
    { fault: "status=500", status: "error" },
  ];
  await inSession(async ({ suite, control }) => {
    const flags = ["--concurrency", "1"];
    for (const { fault, status } of faults)
      for (const limit of ["times=30", "for=30s"]) {
        await control("POST /faults", `POST /chat-messages ${fault} ${limit} app=good`);
        const during = await suite("good", ...flags);
        const statuses = during.tests.flatMap(({ results }) => results.map((each) => each.status));
        expect(new Set(statuses), limit).toEqual(new Set([status]));
        const after = await suite("good", ...flags);
        expect(passes(after), limit).toEqual([5, 5, 5, 5, 5, 5]);
      }
  });
});
