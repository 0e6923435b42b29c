/**
 * What the suite needs of a test runner. Vitest, Jest and `node:test` have these by these names; the suite brings its
 * own assertions.
 */
export interface TestRunner {
  describe(name: string, define: () => void): unknown
  test: {
    (name: string, run: () => Promise<void>): unknown
    /** Registers a test that is reported and not run. */
    skip(name: string, run: () => Promise<void>): unknown
  }
}
