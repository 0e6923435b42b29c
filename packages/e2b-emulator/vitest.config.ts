import { suite } from '../../vitest.shared.ts'

export default suite({ setupFiles: ['test/support/loopback-only.ts'] })
