import { suite } from '../../vitest.shared.ts'

// Sockets and processes, on machines that may be busy with ten other things: what is waited for comes, or a test that hangs ends.
export default suite({
  setupFiles: ['test/support/loopback-only.ts'],
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000 } },
})
