import { beforeAll, describe, expect, test } from "vitest";
import { commandsOf } from "../../src/cli/parse/command-list.ts";
import { parseLine } from "../../src/cli/parse/parser.ts";
import { meaningOf, synonymsBelow } from "../../src/cli/parse/synonyms.ts";
import { CliError } from "../../src/errors.ts";
import { testSandbox } from "../lib/sandbox.ts";
import type { TestSandbox } from "../lib/sandbox.ts";

const kb = await commandsOf("kb");
const wf = await commandsOf("wf");
const parsed = (line: string) => parseLine(line.split(" "), line.startsWith("kb") ? kb : wf);

/** Lines that are run, with the line that they are run as. */
const run: readonly (readonly [typed: string, means: string])[] = [
  ["kb ls", "kb list"],
  ["kb get Handbook", "kb show Handbook"],
  ["kb describe Handbook -o yaml", "kb show Handbook -o yaml"],
  ["kb view Handbook", "kb show Handbook"],
  ["kb -p work get Handbook", "kb -p work show Handbook"],
  ["kb find Handbook leave", "kb search Handbook leave"],
  ["kb query Handbook leave", "kb search Handbook leave"],
  ["kb datasets list", "kb list"],
  ["kb dataset show Handbook", "kb show Handbook"],
  ["kb dataset get Handbook", "kb show Handbook"],
  ["kb documents list Handbook", "kb doc list Handbook"],
  ["kb document get Handbook leave.md", "kb doc show Handbook leave.md"],
  ["kb documents delete Handbook leave.md", "kb doc delete Handbook leave.md"],
  ["kb doc rm Handbook leave.md --yes", "kb doc delete Handbook leave.md --yes"],
  ["kb doc get Handbook -- -a.md", "kb doc show Handbook -- -a.md"],
  ["kb doc get -- Handbook -a.md", "kb doc show -- Handbook -a.md"],
  ["kb segments list Handbook leave.md", "kb chunk list Handbook leave.md"],
  ["kb tags ls", "kb tag list"],
  ["kb models list", "kb model list"],
  ["kb whoami", "kb config explain"],
  ["kb backup Handbook backup", "kb export Handbook backup"],
  ["kb version", "kb --version"],
  ["wf version", "wf --version"],
  ["wf list", "wf logs"],
  ["wf list --status failed", "wf logs --status failed"],
  ["wf ps", "wf logs"],
  ["wf runs -L 5", "wf logs -L 5"],
  ["wf run list", "wf logs"],
  ["wf run view RUN", "wf show RUN"],
  ["wf get RUN", "wf show RUN"],
  ["wf status RUN", "wf show RUN"],
  ["wf tail", "wf logs --follow"],
  ["wf tail --status failed", "wf logs --status failed --follow"],
  ["wf --app slow watch RUN", "wf --app slow events RUN --follow"],
  ["wf run watch RUN", "wf events RUN --follow"],
  ["wf metrics --since 7d", "wf stats --since 7d"],
  ["wf apps info", "wf app info"],
  ["wf app list", "wf profile show"],
  ["wf whoami", "wf config explain"],
  ["kb man", "kb --help"],
  ["wf man form submit", "wf form submit --help"],
  ["kb auth status", "kb doctor"],
  ["kb -p work auth status -o json", "kb -p work doctor -o json"],
];

test.each(run)("%s is %s", (typed, means) => {
  expect(parsed(typed)).toEqual(parsed(means));
});

/** Lines that would write, with the line that the hint shows. */
const refused: readonly (readonly [typed: string, unknown: string, hint: string])[] = [
  ["wf cancel RUN", '"cancel" for wf', "use `wf stop RUN`"],
  ["wf run cancel RUN -q", '"cancel" for wf run', "use `wf stop RUN -q`"],
  ["wf start --input query=x", '"start" for wf', "use `wf run --input query=x`"],
  ["wf approve TOKEN", '"approve" for wf', "use `wf form submit TOKEN --action approve`"],
  [
    "wf reject t1 --input comment=no",
    '"reject" for wf',
    "use `wf form submit t1 --input comment=no --action reject`",
  ],
  ["wf approve", '"approve" for wf', "use `wf form submit TOKEN --action approve`"],
  ["wf resume t1", '"resume" for wf', "use `wf form submit t1`"],
  [
    "wf rerun r1",
    '"rerun" for wf',
    `use \`wf show r1 --jq '.inputs|fromjson|with_entries(select(.key|startswith("sys.")|not))'\`, piped into \`wf run --inputs -\``,
  ],
  ["kb upload Handbook leave.md", '"upload" for kb', "use `kb doc upload Handbook leave.md`"],
  ["kb rename Handbook Guide", '"rename" for kb', "use `kb update Handbook --name Guide`"],
  ["kb rename Handbook", '"rename" for kb', "use `kb update Handbook --name NAME`"],
  ["kb remove Handbook --yes", '"remove" for kb', "use `kb delete Handbook --yes`"],
  ["kb documents remove Handbook a.md", '"remove" for kb doc', "use `kb doc delete Handbook a.md`"],
  ["kb doc create Handbook a.md", '"create" for kb doc', "use `kb doc add Handbook a.md`"],
  ["kb tag mv draft final", '"mv" for kb tag', "use `kb tag rename draft final`"],
  ["kb new Handbook", '"new" for kb', "use `kb create Handbook`"],
  ["kb edit Handbook --name Guide", '"edit" for kb', "use `kb update Handbook --name Guide`"],
  ["kb watch Handbook docs", '"watch" for kb', "use `kb sync Handbook docs --watch`"],
  ["kb remove -- --help", '"remove" for kb', "use `kb delete -- --help`"],
  ["kb new A --description --help", '"new" for kb', "use `kb create A --description --help`"],
  ["kb init", '"init" for kb', "use `kb login`"],
  ["kb auth login", '"login" for kb auth', "use `kb login`"],
  ["kb auth login work --no-check", '"login" for kb auth', "use `kb login work --no-check`"],
  ["kb auth logout work", '"logout" for kb auth', "use `kb profile remove work`"],
  ["wf upload a.md", '"upload" for wf', "use `wf file upload a.md`"],
  ["wf submit t1", '"submit" for wf', "use `wf form submit t1`"],
  ["wf auth --app support", '"auth" for wf', "use `wf login --app support`"],
  ["kb restore backup", '"restore" for kb', "use `kb import backup`"],
];

/** The error of a line that is not parsed. */
function errorOf(line: string): CliError {
  try {
    parsed(line);
  } catch (error) {
    if (error instanceof CliError) return error;
  }
  throw new Error(`${line} is accepted`);
}

test.each(refused)("%s is refused: %s, %s", (line, unknown, hint) => {
  const error = errorOf(line);
  expect(error).toMatchObject({ exit: 2, message: `unknown command ${unknown}` });
  expect(error.info.hint).toBe(hint);
});

test.each(["wf cancel --help", "wf run cancel -h", "kb upload --help"])(
  "%s shows the help of the right command",
  (line) => {
    const { path } = parsed(line) as { path: readonly string[] };
    expect(path.join(" ")).toBe(line.startsWith("wf") ? "stop" : "doc upload");
  },
);

describe.each([
  ["kb", kb],
  ["wf", wf],
] as const)("every synonym of %s", (program, commands) => {
  const groups = [
    ...new Set(
      commands.flatMap(({ words }) => words.map((_, index) => words.slice(0, index + 1).join(" "))),
    ),
  ];
  const all = groups.flatMap((group) => {
    const start = group.split(" ");
    const words = commands
      .filter((command) => start.every((word, index) => command.words[index] === word))
      .flatMap((command) => command.words[start.length] ?? []);
    return synonymsBelow(start, words).map((synonym) => ({ group, synonym }));
  });

  test("there are more than forty", () => {
    expect(new Set(all.map(({ synonym }) => synonym.word)).size).toBeGreaterThan(40);
  });

  test.each(all.map(({ group, synonym }) => [`${group} ${synonym.word}`, synonym] as const))(
    "%s stands for a command: run if it reads or is a spelling, else refused with the line",
    (line, synonym) => {
      const [words = []] = meaningOf(synonym, []);
      const target = commands.findLast((command) =>
        command.words.slice(1).every((word, index) => words[index] === word),
      );
      const isGroup = target === undefined;
      if (isGroup) expect(() => parsed(`${line} --help`)).not.toThrow();
      else if (target.effect === "reads" || synonym.isSpelling) {
        expect(parsed(`${line} --help`)).toMatchObject({ path: target.words.slice(1) });
      } else {
        const { info } = errorOf(line);
        expect(info.hint).toMatch(
          new RegExp(`^use \`${target.words.join(" ")}[ \`]|^use .*\`${program} `),
        );
      }
    },
  );
});

describe("against a server", () => {
  let server: TestSandbox;
  beforeAll(async () => {
    server = await testSandbox();
    await server.cli(["kb", "create", "Handbook", "--indexing-technique", "economy"]);
    await server.cli(["kb", "doc", "add", "Handbook", "a.md", "--text", "hello"]);
  });
  const cli = (line: string) => server.cli(line.split(" "));

  test("reads print what the command prints", async () => {
    for (const [typed, means] of [
      ["kb get Handbook --jq .name", "kb show Handbook --jq .name"],
      ["kb documents list Handbook -o csv", "kb doc list Handbook -o csv"],
      ["wf list -o json", "wf logs -o json"],
      ["kb help get", "kb help show"],
    ] as const) {
      const ran = await cli(typed);
      expect(ran).toMatchObject({ exit: 0, err: "" });
      expect(ran.out).toBe((await cli(means)).out);
    }
  });

  test("writes send nothing, and their line works", async () => {
    server.seen.length = 0;
    const ran = await cli("kb rename Handbook Guide");
    expect(ran).toEqual({
      exit: 2,
      out: "",
      err: 'error: unknown command "rename" for kb\nhint: use `kb update Handbook --name Guide`\n',
    });
    expect(server.seen).toEqual([]);
    expect((await cli("kb update Handbook --name Guide --jq .name")).out).toBe("Guide\n");
  });

  test("the line for running again starts a run with the same inputs", async () => {
    const run = (await cli("wf run --input query=again -o name")).out.trim();
    const { err } = await cli(`wf rerun ${run}`);
    const [, filter = ""] = /--jq '([^']+)'/.exec(err) ?? [];
    const inputs = await server.cli(["wf", "show", run, "--jq", filter]);
    expect(JSON.parse(inputs.out)).toEqual({ query: "again" });
    const again = await server.cli(["wf", "run", "--inputs", "-", "--jq", ".outputs"], {
      stdin: inputs.out,
    });
    expect(again.out).toBe('{"query":"again"}\n');
  });

  test("completion and help do not list them", async () => {
    const words = (await server.cli(["kb", "__complete", "--", ""])).out;
    expect(words).toMatch(/^show\t/m);
    for (const page of [words, (await cli("kb --help")).out]) {
      expect(page).not.toMatch(/^ *(get|describe|documents|dataset|upload|version)\b/m);
    }
  });
});
