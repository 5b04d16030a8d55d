/** Counts the tokens of a text: four characters each. */
export const countTokens = (text: string): number => Math.ceil(text.length / 4);

/** Tokens, prices in USD and times in seconds of a call, as responses report them. */
export type Usage = ReturnType<typeof tokenUsage>;

/** USD for a million tokens. */
const PRICES = { prompt: 0.5, completion: 1.5 };

/** When a call began, sent its first piece and ended; in ms. */
interface CallTimes {
  readonly started: number;
  readonly first: number;
  readonly ended: number;
}

/** The usage of a call with these numbers of tokens. */
export function tokenUsage(
  tokens: { readonly prompt: number; readonly completion: number },
  { started, first, ended }: CallTimes,
) {
  const promptPrice = (tokens.prompt * PRICES.prompt) / 1e6;
  const completionPrice = (tokens.completion * PRICES.completion) / 1e6;
  return {
    prompt_tokens: tokens.prompt,
    prompt_unit_price: String(PRICES.prompt),
    prompt_price_unit: "0.000001",
    prompt_price: promptPrice.toFixed(7),
    completion_tokens: tokens.completion,
    completion_unit_price: String(PRICES.completion),
    completion_price_unit: "0.000001",
    completion_price: completionPrice.toFixed(7),
    total_tokens: tokens.prompt + tokens.completion,
    total_price: (promptPrice + completionPrice).toFixed(7),
    currency: "USD",
    latency: (ended - started) / 1000,
    time_to_first_token: ((first - started) / 1000) as number | null,
    time_to_generate: ((ended - first) / 1000) as number | null,
  };
}

/** The usage of several calls; the first piece is that of the first call. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  ...a,
  prompt_tokens: a.prompt_tokens + b.prompt_tokens,
  prompt_price: addPrices(a.prompt_price, b.prompt_price),
  completion_tokens: a.completion_tokens + b.completion_tokens,
  completion_price: addPrices(a.completion_price, b.completion_price),
  total_tokens: a.total_tokens + b.total_tokens,
  total_price: addPrices(a.total_price, b.total_price),
  latency: a.latency + b.latency,
  time_to_generate: (a.time_to_generate ?? 0) + (b.time_to_generate ?? 0),
});

/** What nodes report of a usage. */
export const costOf = ({ total_tokens, total_price, currency }: Usage) => ({
  total_tokens,
  total_price,
  currency,
});

const addPrices = (a: string, b: string): string => (Number(a) + Number(b)).toFixed(7);

/** The usage of a call that was stopped: nothing is counted. `latency` in seconds. */
export const noUsage = (latency: number): Usage => ({
  ...tokenUsage({ prompt: 0, completion: 0 }, { started: 0, first: 0, ended: 0 }),
  latency,
  time_to_first_token: null,
  time_to_generate: null,
});

/** The usage of a run without a model. */
export const zeroUsage: Usage = {
  ...noUsage(0),
  prompt_unit_price: "0.0",
  prompt_price_unit: "0.0",
  prompt_price: "0.0",
  completion_unit_price: "0.0",
  completion_price_unit: "0.0",
  completion_price: "0.0",
  total_price: "0.0",
};
