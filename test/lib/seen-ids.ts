import { expect } from "vitest";
import { newIdSet } from "../../src/api/id-set.ts";

/** Ids of rows, by what makes them hard to keep apart. */
export const kindsOfIds: Readonly<Record<string, (number: number) => string>> = {
  "differ in their first digits": (number) =>
    `${number.toString(16).padStart(8, "0")}-0000-7000-8000-000000000000`,
  "differ in their last digits": (number) =>
    `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`,
  "are no UUIDs": (number) => `row ${number}`,
};

/** So many ids are new when they come, and known when they come again. */
export function expectNewOnce(many: number, idOf: (number: number) => string): void {
  const seen = newIdSet();
  let added = 0;
  for (let number = 0; number < many; number++) if (seen.add(idOf(number))) added++;
  expect([added, seen.size]).toEqual([many, many]);
  let again = 0;
  for (let number = 0; number < many; number++) if (seen.add(idOf(number))) again++;
  expect([again, seen.size]).toEqual([0, many]);
  expect(seen.add(idOf(many))).toBe(true);
}
