import { suite } from '../../vitest.shared.ts'

// Most tests run several git processes over TLS.
export default suite({ testTimeout: 60_000 })
