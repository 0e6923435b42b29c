import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

test('the example of the README is the one that is compiled', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const example = await readFile(new URL('support/readme-example.ts', import.meta.url), 'utf8')
  expect(readme).toContain(`\`\`\`ts\n${example}\`\`\``)
})
