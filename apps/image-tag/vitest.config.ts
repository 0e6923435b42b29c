import { suite } from '../../vitest.shared.ts'

// Every test runs git a few dozen times.
export default suite({ testTimeout: 120_000 })
