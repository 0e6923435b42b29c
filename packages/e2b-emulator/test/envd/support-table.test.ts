import { expect, test } from 'vitest'
import { envdOperations } from '../../src/envd/index.ts'
import { startEnvd } from './support/harness.ts'

test('every operation that the table calls supported is answered, every other says that it is not emulated', async () => {
  const { fetch } = await startEnvd()
  const answers = await Promise.all(
    envdOperations.map(async ({ method, path, support }) => {
      const { status } = await fetch(path, { method: method.toUpperCase() })
      return { path, emulated: status !== 501, expected: support.level !== 'none' }
    }),
  )
  expect(answers.filter(({ emulated, expected }) => emulated !== expected)).toEqual([])
})

test('the table holds every remote call of both services once, and the files', () => {
  const names = envdOperations.map(({ method, path }) => `${method} ${path}`)
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(
    expect.arrayContaining([
      'get /files',
      'post /files',
      'post /process.Process/Start',
      'post /filesystem.Filesystem/Stat',
    ]),
  )
  expect(names.filter((name) => name.includes('.'))).toHaveLength(17)
})
