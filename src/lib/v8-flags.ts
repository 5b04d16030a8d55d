/**
 * Flags of V8 that a request turns off on Node 20: they optimize WebAssembly in the background. V8 rejects code
 * that was compiled with other flags than those of a start, so they are on again when code is stored.
 */
export const optimizingFlags = ["wasm-tier-up", "wasm-dynamic-tiering"] as const;
