import { suite } from '../../vitest.shared.ts'

export default suite()
