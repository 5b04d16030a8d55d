const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** ms of `30s`, `1h30m` or `250ms`; undefined for everything else, a bare number included. */
export function millisecondsIn(text: string): number | undefined {
  if (!/^(\d+(\.\d+)?(ms|[smhd]))+$/.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)) {
    total += Number(amount) * (units[unit ?? ""] ?? 0);
  }
  return total;
}
