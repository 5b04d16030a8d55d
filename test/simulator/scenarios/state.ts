import { deepEqual, equal, ok } from "node:assert/strict";
import type { Machine } from "../machine.ts";
import type { Ended, SimulatedProcess } from "../process.ts";
import type { Scenario } from "../simulate.ts";
import type { World } from "../world.ts";

const PROFILES = "/home/user/config/profiles.json";
const FAILURES = "/home/user/state/failures";
const NAMES = ["ann", "bob", "cid", "dan"];

/** The profile file as far as the commands of the scenario change it. */
interface Store {
  readonly default?: string;
  /** Keys of each profile: the knowledge key first, then those of applications by name. */
  readonly profiles: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** A command, and what it does to a store; undefined if it must fail because a profile is missing. */
interface Command {
  readonly argv: readonly string[];
  readonly stdin?: string;
  /** Does it send requests? Then its error is logged. */
  readonly isRemote?: true;
  readonly change: (store: Store) => Store | undefined;
}

const login = (name: string, key: string): Command => ({
  argv: ["kb", "login", name, ...loginFlags],
  stdin: `dataset-${key}`,
  change: ({ profiles, ...store }) => ({
    default: store.default ?? name,
    profiles: { ...profiles, [name]: { ...profiles[name], "": `dataset-${key}` } },
  }),
});

const loginApp = (name: string, key: string): Command => ({
  argv: ["wf", "login", name, "--app", `app ${key}`, ...loginFlags],
  stdin: `app-${key}`,
  change: ({ profiles, ...store }) => ({
    default: store.default ?? name,
    profiles: { ...profiles, [name]: { ...profiles[name], [`app ${key}`]: `app-${key}` } },
  }),
});

const loginFlags = [
  "--base-url",
  "http://127.0.0.1:8080/v1",
  "--key-file",
  "-",
  "--no-check",
  "--insecure-storage",
];

const use = (name: string): Command => ({
  argv: ["kb", "profile", "use", name],
  change: (store) => (store.profiles[name] ? { ...store, default: name } : undefined),
});

const remove = (name: string): Command => ({
  argv: ["wf", "profile", "remove", name, "--yes"],
  change({ profiles: { [name]: removed, ...profiles }, ...store }) {
    if (!removed) return undefined;
    return store.default === name ? { profiles } : { ...store, profiles };
  },
});

/** A command that fails. */
const show = (name: string): Command => ({
  argv: ["kb", "show", `name:${name}`],
  isRemote: true,
  change: () => undefined,
});

interface Stage {
  readonly world: World;
  readonly machine: Machine;
}

/** The key of the server; profiles have others. */
const env = { KB_KEY: "dataset-sandbox" };

interface StoredKey {
  readonly key: string;
}
interface StoredProfile extends Partial<StoredKey> {
  readonly apps?: Readonly<Record<string, StoredKey>>;
}

/** What the disk has: a whole file, whatever was killed. */
function storeOf({ machine: { disk } }: Stage): Store {
  if (!disk.has(PROFILES)) return { profiles: {} };
  const { profiles, ...store } = JSON.parse(disk.text(PROFILES)) as {
    default?: string;
    profiles: Record<string, StoredProfile>;
  };
  const keysOf = ({ key, apps = {} }: StoredProfile) => ({
    ...(key !== undefined && { "": key }),
    ...Object.fromEntries(Object.entries(apps).map(([name, app]) => [name, app.key])),
  });
  const keys = Object.entries(profiles).map(([name, profile]) => [name, keysOf(profile)] as const);
  return { ...store, profiles: Object.fromEntries(keys) };
}

/** A command with its end. */
interface Attempt {
  readonly command: Command;
  readonly end: Ended;
}

/**
 * The stores that some order of the commands can leave: of those that were cut off, each may have done nothing. A
 * power cut may undo the last ones.
 */
function outcomes(store: Store, attempts: readonly Attempt[], isUndone = false): Store[] {
  if (attempts.length === 0) return [store];
  const later = attempts.flatMap(({ command, end: { exit } }, at) => {
    const rest = attempts.filter((_, index) => index !== at);
    const changed = command.change(store);
    if (exit === 0) return changed ? outcomes(changed, rest, isUndone) : [];
    if (exit === 3) return changed ? [] : outcomes(store, rest, isUndone);
    const isCut = exit === null || exit === 130;
    const untouched = outcomes(store, rest, isUndone);
    return isCut && changed ? [...untouched, ...outcomes(changed, rest, isUndone)] : untouched;
  });
  return isUndone ? [store, ...later] : later;
}

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    each !== null && typeof each === "object"
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );

function draw({ world }: Stage, place: string): Command {
  const name = world.pick(NAMES, `name of ${place}`);
  const key = `${world.below(1e6, `key of ${place}`)}`;
  const commands = [login, login, loginApp, use, remove, show].map((make) => make(name, key));
  return world.pick(commands, `command of ${place}`);
}

/** Commands at the same time: the file is as one of their orders leaves it. */
async function playTurn(stage: Stage, turn: number): Promise<void> {
  const { world, machine } = stage;
  await world.pause(6000); // until the system has flushed the names of files
  const before = storeOf(stage);
  const { boots } = machine.power;
  const running: { command: Command; process: SimulatedProcess }[] = [];
  for (let index = 0; index < 3; index++) {
    const name = `command ${turn}.${index}`;
    if (index > 0 && !world.happens("at once", name, 0.6)) continue;
    const command = draw(stage, name);
    const { argv, stdin = "" } = command;
    running.push({ command, process: world.start(argv, { name, machine, stdin, env }) });
    await world.pause(world.random(`after ${name}`) * 30);
  }
  const reader = world.start(["kb", "profile", "list", "-o", "json"], {
    name: `list ${turn}`,
    machine,
  });
  const attempts: Attempt[] = [];
  for (const { command, process } of running) attempts.push({ command, end: await process.ended });
  for (const { end } of attempts)
    ok([null, 0, 1, 3, 7, 11, 12, 130].includes(end.exit), `exit code ${end.exit}: ${end.err}`);
  const { exit, err } = await reader.ended;
  ok([null, 0, 130].includes(exit), `a reader failed with ${exit}: ${err}`);
  const after = sorted(storeOf(stage));
  const possible = outcomes(before, attempts, machine.power.boots > boots).map(sorted);
  ok(possible.includes(after), `the profiles are ${after}, not one of\n${possible.join("\n")}`);
  requireLog(stage, attempts);
}

/** Each command that failed has a whole file in the log of errors, unless the disk was full. */
function requireLog({ world, machine: { disk } }: Stage, attempts: readonly Attempt[]): void {
  if (!disk.has(FAILURES)) return;
  const logged = disk
    .list(FAILURES)
    .filter((name) => name.endsWith(".json"))
    .map((name) => (JSON.parse(disk.text(`${FAILURES}/${name}`)) as { command: string }).command);
  if (world.faults.happened.some((fault) => /^(full disk|io error|power)/.test(fault))) return;
  for (const { command, end } of attempts) {
    if (!command.isRemote || end.exit === null || end.exit === 130) continue;
    const line = command.argv.join(" ");
    ok(logged.includes(line), `no log of the error of ${line}`);
  }
}

/** A damaged file is named by every command, and none writes it. */
async function playDamage({ world, machine }: Stage, turn: number): Promise<void> {
  const { disk } = machine;
  if (!disk.has(PROFILES)) return;
  const whole = disk.text(PROFILES);
  const damaged = whole.slice(0, 1 + world.below(whole.trimEnd().length - 1, `damage ${turn}`));
  disk.write(PROFILES, damaged);
  const { argv, stdin = "" } = draw({ world, machine }, `damaged ${turn}`);
  const { exit, err } = await world.start(argv, { name: `damaged ${turn}`, machine, stdin }).ended;
  equal(disk.text(PROFILES), damaged, "a damaged file was overwritten");
  if (exit === 2) ok(err.includes(PROFILES), `the damaged file is not named: ${err}`);
  else ok([null, 1, 130].includes(exit), `exit code ${exit} with a damaged file: ${err}`);
  disk.write(PROFILES, whole);
}

async function play(world: World): Promise<void> {
  const stage: Stage = { world, machine: world.machine() };
  const turns = 2 + world.below(4, "turns");
  for (let turn = 0; turn < turns; turn++) {
    await playTurn(stage, turn);
    if (world.happens("damage", `${turn}`, 0.2)) await playDamage(stage, turn);
  }
  world.calm();
  await world.pause(60_000);
  const before = storeOf(stage);
  const { argv, stdin = "", change } = login("eve", "last");
  const { exit, err } = await world.start(argv, {
    name: "undisturbed",
    machine: stage.machine,
    stdin,
  }).ended;
  equal(exit, 0, err);
  deepEqual(sorted(storeOf(stage)), sorted(change(before)));
}

/** Profiles and the log of errors, changed by several commands at once, killed, and on full disks. */
export const state: Scenario = {
  name: "state",
  play,
  guards: [
    {
      name: "profiles are changed without a lock",
      file: "src/config/profiles.ts",
      from: "const release = await lockProfiles({ host, notice });",
      to: "const release = () => void notice;",
    },
    {
      name: "profiles are written in place",
      file: "src/config/profiles.ts",
      from: "await files.writeSettings(await files.realPath(path).catch(() => path), store);",
      to: "await files.remove(path); await files.append(path, JSON.stringify(store));",
    },
    {
      name: "files are written in place",
      file: "src/host/node-files.ts",
      from: "const temporary = unfinishedPath(path, await system.randomHex(4));",
      to: "const temporary = path;",
    },
    {
      name: "a file is renamed before it is flushed",
      file: "src/host/node-files.ts",
      from: "await writeFile(file, content);\n          await file.sync();",
      to: "await writeFile(file, content);",
    },
    {
      name: "a damaged file counts as an empty one",
      file: "src/config/profiles.ts",
      from: "throw damaged(path, `line ${lineOf(text, error)} is not valid JSON`);",
      to: "return { profiles: {} };",
    },
    {
      name: "errors are logged in place",
      file: "src/host/error-log.ts",
      from: "await host.files.writeAtomic(join(directory, name), `${json}\\n`, 0o600);",
      to: "await host.files.append(join(directory, name), `${json}\\n`);",
    },
  ],
};
