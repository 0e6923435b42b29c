import { suite } from '../../vitest.shared.ts'

export default suite({ testTimeout: 60_000 })
