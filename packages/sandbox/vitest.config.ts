import { suite } from '../../vitest.shared.ts'

export default suite({ setupFiles: ['test/support/network.ts'] })
