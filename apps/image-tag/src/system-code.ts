/** The operating system's name for what went wrong, such as `EACCES`; `undefined` for errors of another kind. */
export const systemCode = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code)
    ? error.code
    : undefined
