/** Counts the tokens of a text: four characters each. */
export const countTokens = (text: string): number => Math.ceil(text.length / 4);

/** Tokens, prices in USD and times in seconds of a call, as responses report them. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly prompt_unit_price: string;
  readonly prompt_price_unit: string;
  readonly prompt_price: string;
  readonly completion_tokens: number;
  readonly completion_unit_price: string;
  readonly completion_price_unit: string;
  readonly completion_price: string;
  readonly total_tokens: number;
  readonly total_price: string;
  readonly currency: string;
  readonly latency: number;
  readonly time_to_first_token: number | null;
  readonly time_to_generate: number | null;
}

/** USD for a million tokens. */
const PRICES = { prompt: 0.5, completion: 1.5 };

/** The usage of a call; times in ms since 1970. */
export function measureUsage(
  prompt: string,
  reply: string,
  {
    started,
    first,
    ended,
  }: { readonly started: number; readonly first: number; readonly ended: number },
): Usage {
  const prompt_tokens = countTokens(prompt);
  const completion_tokens = countTokens(reply);
  const promptPrice = (prompt_tokens * PRICES.prompt) / 1e6;
  const completionPrice = (completion_tokens * PRICES.completion) / 1e6;
  return {
    prompt_tokens,
    prompt_unit_price: String(PRICES.prompt),
    prompt_price_unit: "0.000001",
    prompt_price: promptPrice.toFixed(7),
    completion_tokens,
    completion_unit_price: String(PRICES.completion),
    completion_price_unit: "0.000001",
    completion_price: completionPrice.toFixed(7),
    total_tokens: prompt_tokens + completion_tokens,
    total_price: (promptPrice + completionPrice).toFixed(7),
    currency: "USD",
    latency: (ended - started) / 1000,
    time_to_first_token: (first - started) / 1000,
    time_to_generate: (ended - first) / 1000,
  };
}
