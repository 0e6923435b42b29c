/**
 * The promise's outcome, or a rejection with the signal's reason as soon as it aborts. The promise itself goes on;
 * no listener stays behind.
 */
export declare function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T>;
