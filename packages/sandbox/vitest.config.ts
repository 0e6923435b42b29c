import { suite } from '../../vitest.shared.ts'

export default suite({ setupFiles: ['test/support/network.ts'], testTimeout: 20_000 })
