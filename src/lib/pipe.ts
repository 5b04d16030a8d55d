/**
 * One thing that happens to a stream of batches while it passes: each hook is optional. After the last
 * batch, exactly one of `end`, `failed` and `abandoned` is called; what it throws replaces the end.
 */
export interface Stage<Batch, Result> {
  /** Called before the stream begins. */
  start?(): void | Promise<void>;
  /** Returns what to pass on; an empty batch is not. */
  batch?(batch: Batch): Batch | Promise<Batch>;
  /** Returns what it held back, to pass on before the end or the failure. */
  flush?(): Batch;
  end?(result: Result): void | Promise<void>;
  /** The stream, or this stage, failed with this error. */
  failed?(error: unknown): void | Promise<void>;
  /** The consumer stopped early, and the stream is closed. */
  abandoned?(): void | Promise<void>;
}

/**
 * Passes a stream through stages, one after the other, and returns its result, which `for await`
 * would drop. Closes the stream if a stage fails or the consumer stops early.
 */
export const pipe = <Batch extends { readonly length: number }, Result>(
  source: AsyncGenerator<Batch, Result>,
  ...stages: readonly Stage<Batch, NoInfer<Result>>[]
): AsyncGenerator<Batch, Result> => stages.reduce(through, source);

async function* through<Batch extends { readonly length: number }, Result>(
  source: AsyncGenerator<Batch, Result>,
  stage: Stage<Batch, Result>,
): AsyncGenerator<Batch, Result> {
  let isOpen = true;
  let result: Result;
  const close = () => source.return(undefined as never); // its result is not used
  try {
    await stage.start?.();
    let next = await source.next();
    for (; !next.done; next = await source.next()) {
      const batch = stage.batch ? await stage.batch(next.value) : next.value;
      if (batch.length > 0) yield batch;
    }
    isOpen = false;
    result = next.value;
  } catch (error) {
    isOpen = false;
    await close();
    const held = stage.flush?.();
    if (held && held.length > 0) yield held;
    await stage.failed?.(error);
    throw error;
  } finally {
    if (isOpen) await close().finally(() => stage.abandoned?.());
  }
  const held = stage.flush?.();
  if (held && held.length > 0) yield held;
  await stage.end?.(result);
  return result;
}

/** Reads a stream to its end, for its result alone. */
export async function resultOfStream<Result>(
  source: AsyncGenerator<unknown, Result>,
): Promise<Result> {
  let next = await source.next();
  while (!next.done) next = await source.next();
  return next.value;
}
