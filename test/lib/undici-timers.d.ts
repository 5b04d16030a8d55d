/** The timers of undici's requests; `tick` is exported for tests. */
declare module "undici/lib/util/timers.js" {
  const timers: { tick(ms?: number): void };
  export default timers;
}
