import { suite } from '../../vitest.shared.ts'

// Sockets and processes on a busy machine; a test that hangs still ends.
export default suite({ setupFiles: ['test/support/loopback-only.ts'], testTimeout: 20_000 })
