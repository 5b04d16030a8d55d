import { expect } from "vitest";
import { newIdSet } from "../../src/api/id-set.ts";

/** IDs of rows, by what makes them hard to distinguish. */
export const kindsOfIds: Readonly<Record<string, (number: number) => string>> = {
  "differ in their first digits": (number) =>
    `${number.toString(16).padStart(8, "0")}-0000-7000-8000-000000000000`,
  "differ in their last digits": (number) =>
    `00000000-0000-4000-8000-${number.toString(16).padStart(12, "0")}`,
  "are not UUIDs": (number) => `row ${number}`,
};

/** Expects each ID to be new the first time and known the second time. */
export function expectNewOnce(count: number, idOf: (number: number) => string): void {
  const seen = newIdSet();
  let added = 0;
  for (let number = 0; number < count; number++) if (seen.add(idOf(number))) added++;
  expect([added, seen.size]).toEqual([count, count]);
  let again = 0;
  for (let number = 0; number < count; number++) if (seen.add(idOf(number))) again++;
  expect([again, seen.size]).toEqual([0, count]);
  expect(seen.add(idOf(count))).toBe(true);
}
