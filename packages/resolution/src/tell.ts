/**
 * Calls a listener; where it throws, or is an async function that rejects, `failed` is told and nobody else.
 */
export function tell<E>(listener: (event: E) => unknown, event: E, failed: (error: unknown) => void): void {
  try {
    const answer = listener(event)
    if (answer instanceof Promise) answer.catch(failed)
  } catch (error) {
    failed(error)
  }
}
