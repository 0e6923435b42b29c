import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseFacts, withGaps } from '../src/platform-facts.ts'

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
const facts = parseFacts(read('../PLATFORM.md'))

/** Ids in square brackets at the end of a title, which a comma follows. */
const AT_END_OF_TITLE = /((?:\s\[[A-Z]\d+\])+)['"`],/g
const files = globSync('**/*.test.ts', { cwd: new URL('.', import.meta.url) })
const proved = new Set(
  files
    .flatMap((file) => [...read(file).matchAll(AT_END_OF_TITLE)])
    .flatMap(([, ids = '']) => ids.match(/[A-Z]\d+/g) ?? []),
)

test('the scan finds the titles of this package', () => {
  expect(files.length).toBeGreaterThan(20)
  expect(proved.size).toBeGreaterThan(100)
})

test('every fact of PLATFORM.md has a test that carries its id, or names a gap', () => {
  const open = facts.filter(({ id, gap }) => gap === undefined && !proved.has(id))
  expect(open.map(({ id, text }) => `${id} ${text}`)).toEqual([])
})

test('every id that a test carries has a row', () => {
  const known = new Set(facts.map(({ id }) => id))
  expect([...proved].filter((id) => !known.has(id))).toEqual([])
})

test('no id is given twice', () => {
  const ids = facts.map(({ id }) => id)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

test('the README lists every gap (pnpm matrix writes it) and leads to the facts', () => {
  const readme = read('../README.md')
  expect(withGaps(readme, facts)).toBe(readme)
  expect(readme).toContain('](PLATFORM.md)')
})
