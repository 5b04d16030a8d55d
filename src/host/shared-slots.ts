import { dirname, join } from "node:path";
import { isMissing, reasonOf } from "../errors.ts";
import { fairShare } from "./fair-share.ts";
import type { Host, Lock } from "./host.ts";

/** ms after which the directory is read again, and between two attempts to get a slot. */
const LOOK_MS = 100;
/** ms after which files of processes that were killed are looked for. */
const SWEEP_MS = 1000;
/** Longest time for which the server may want no requests, in ms. */
const MAX_PAUSE_MS = 300_000;

/** Slots of one process among those of all. */
interface SlotSettings {
  /** Directory of the slots of one server. */
  readonly directory: () => Promise<string>;
  /** Slots in all that this process may use. */
  readonly total: number;
  /** Called once if the directory cannot be used: then there is no limit. */
  readonly onUnavailable: (reason: string) => Promise<void>;
}

/** A slot that this process holds. */
interface HeldSlot {
  readonly number: number;
  readonly release: () => void;
  busy: boolean;
}

/**
 * The connections to one server, shared by the processes of a user on a machine. Each slot is a lock file,
 * so no more are taken than there are, and those of a process that was killed are free again. Each process
 * has a file of its own while it has requests to send, by which all compute their shares:
 *
 *     member.4f2a91…    a process with requests           slot.8     a slot that one of them holds
 *     member.b70c33…    another one: 4 slots for each      pause.1790000000000.4f2a91…
 *                                                          the server wants no requests until then
 *
 * A process keeps a slot from task to task while it has no more than its share.
 */
export class SharedSlots {
  readonly #host: Host;
  readonly #settings: SlotSettings;
  #id = "";
  #directory = "";
  #member: (() => void) | undefined;
  readonly #held = new Map<number, HeldSlot>();
  readonly #waiting = new Set<() => void>();
  /** Files of the directory when it was read. */
  #names: ReadonlySet<string> = new Set();
  #share = 0;
  #pausedUntil = 0;
  #lookedAt = -Infinity;
  #sweptAt = -Infinity;
  #seeking = false;
  /** Is there no limit, because the directory cannot be used or the command ends? */
  #open = false;

  constructor(settings: SlotSettings, host: Host) {
    this.#settings = settings;
    this.#host = host;
  }

  /** Takes a slot for a task; undefined if this process has none that is free. */
  take(): { leave(): void } | undefined {
    if (this.#open || this.#host.signal.aborted) return { leave() {} };
    const free = this.#mayTake() ? this.#idle() : undefined;
    if (!free) return undefined;
    free.busy = true;
    return {
      leave: () => {
        free.busy = false;
        if (this.#host.elapsed() - this.#lookedAt > LOOK_MS) void this.#lookAgain();
      },
    };
  }

  /** Calls back when a slot may be free. */
  request(onFree: () => void): void {
    this.#waiting.add(onFree);
    void this.#seek();
  }

  forget(onFree: () => void): void {
    this.#waiting.delete(onFree);
    if (this.#waiting.size === 0) this.settle();
  }

  /** Gives back the slots in which nothing runs. */
  settle(): void {
    for (const slot of this.#held.values()) {
      if (slot.busy) continue;
      this.#held.delete(slot.number);
      slot.release();
    }
    if (this.#held.size > 0 || this.#waiting.size > 0 || this.#seeking) return;
    this.#member?.();
    this.#member = undefined;
  }

  /** Tells all processes that the server wants no requests for some ms; this one waits by itself. */
  async pause(ms: number): Promise<void> {
    if (this.#member === undefined) return;
    const until = this.#host.now().getTime() + Math.min(ms, MAX_PAUSE_MS);
    const path = this.#path(`pause.${until}.${this.#id}`);
    await this.#host.files.writeAtomic(path, "", 0o600).catch(() => {}); // they will be told themselves
  }

  /** Gives everything back; from then on there is no limit. */
  async close(): Promise<void> {
    this.#open = true;
    for (const slot of this.#held.values()) slot.release();
    this.#held.clear();
    this.#member?.();
    this.#member = undefined;
    this.#wake();
    // Only the last process can remove the directory, since the others have files in it.
    const { removeEmptyDirectory } = this.#host.files;
    if (this.#directory === "") return;
    await removeEmptyDirectory(this.#directory);
    await removeEmptyDirectory(dirname(this.#directory));
  }

  /** Looks for slots until no task waits for one. */
  async #seek(): Promise<void> {
    if (this.#seeking) return;
    this.#seeking = true;
    const { signal, sleep } = this.#host;
    try {
      while (this.#waiting.size > 0 && !this.#open) {
        await this.#join();
        await this.#look();
        if (this.#mayTake() && (this.#idle() || (await this.#acquire()))) this.#wake();
        else await sleep(LOOK_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) await this.#settings.onUnavailable(reasonOf(error));
      await this.close();
    } finally {
      this.#seeking = false;
      this.settle();
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const onFree of waiting) onFree();
  }

  #idle(): HeldSlot | undefined {
    return [...this.#held.values()].find(({ busy }) => !busy);
  }

  /** May one more task run, if there is a slot for it? */
  #mayTake(): boolean {
    const busy = [...this.#held.values()].filter((slot) => slot.busy).length;
    return busy < this.#share && this.#host.now().getTime() >= this.#pausedUntil;
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }

  #lock(name: string): Promise<Lock> {
    return this.#host.files.lock(this.#path(name), this.#host.process);
  }

  async #join(): Promise<void> {
    if (this.#member) return;
    this.#directory ||= await this.#settings.directory();
    // In containers, processes have the same pid; in a server of tools, commands have.
    const { process, elapsed, random } = this.#host;
    this.#id ||= [process.pid, elapsed(), random() * 2 ** 32].map(Math.floor).join("-");
    // Another process may remove the directory until there is a file in it.
    for (let attempt = 0; this.#member === undefined; attempt++) {
      await this.#host.files.makeDirectory(this.#directory, 0o700);
      try {
        const lock = await this.#lock(`member.${this.#id}`);
        this.#member = "release" in lock ? lock.release : () => {};
      } catch (error) {
        if (attempt === 3 || !isMissing(error)) throw error;
      }
    }
  }

  async #lookAgain(): Promise<void> {
    this.#lookedAt = this.#host.elapsed(); // once, for all tasks that end now
    await this.#look().catch(() => {}); // the next search for a slot reports it
  }

  /** Reads who else has requests, and computes the share of this process. */
  async #look(): Promise<void> {
    const names = await this.#host.files.list(this.#directory);
    this.#names = new Set(names);
    this.#lookedAt = this.#host.elapsed();
    const members = matches(names, /^member\.([\w-]+)$/)
      .map(([, id = ""]) => id)
      .filter((id) => id !== this.#id);
    const isDue = this.#lookedAt - this.#sweptAt > SWEEP_MS;
    if (isDue) await this.#sweep(names);
    const time = this.#host.now().getTime();
    this.#share = fairShare(this.#id, members, this.#settings.total, time);
    this.#pausedUntil = 0;
    for (const [name, until, owner] of matches(names, /^pause\.(\d+)\.([\w-]+)$/)) {
      const left = Number(until) - time;
      // After a longer one nothing is repeated, so the clock was set back since.
      if (left <= 0 || left > MAX_PAUSE_MS) await this.#host.files.remove(this.#path(name));
      else if (owner !== this.#id) this.#pausedUntil = Math.max(this.#pausedUntil, Number(until));
    }
  }

  /** Removes the files of processes that were killed: only those can be locked. */
  async #sweep(names: readonly string[]): Promise<void> {
    this.#sweptAt = this.#lookedAt;
    for (const [name] of matches(names, /^(?:member|slot)\.[\w-]+$/)) {
      if (name === `member.${this.#id}`) continue;
      const lock = await this.#lock(name);
      if ("release" in lock) lock.release();
    }
  }

  /** Takes one more slot, the last ones first. */
  async #acquire(): Promise<boolean> {
    for (let number = this.#settings.total; number > 0; number--) {
      if (this.#names.has(`slot.${number}`)) continue;
      const lock = await this.#lock(`slot.${number}`);
      if (!("release" in lock)) continue;
      this.#held.set(number, { number, release: lock.release, busy: false });
      return true;
    }
    return false;
  }
}

const matches = (names: readonly string[], pattern: RegExp): RegExpExecArray[] =>
  names.map((name) => pattern.exec(name)).filter((match) => match !== null);
