/**
 * Test files of one worker share the helpers in `test/lib`, so a helper cannot register `afterAll` when it
 * is loaded. It registers each thing to remove, close or kill here; `cleanup-setup.ts` does the rest.
 */
const actions: (() => unknown)[] = [];

/** Does something after the tests of the current file. In contrast to `afterAll`, a test may call it. */
export const afterFile = (action: () => unknown): void => void actions.push(action);

/** Does what `afterFile` registered, the last first. */
export async function cleanUp(): Promise<void> {
  for (const action of actions.splice(0).reverse()) await action();
}
