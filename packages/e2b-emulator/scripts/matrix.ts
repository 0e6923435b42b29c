/** Writes the support matrix and the gaps into the README, from the tables of operations and the facts of PLATFORM.md. */
import { readFile, writeFile } from 'node:fs/promises'
import { parseFacts, withGaps } from '../src/platform-facts.ts'
import { supportMatrix, withMatrix } from '../src/support-matrix.ts'

const readme = new URL('../README.md', import.meta.url)
const facts = parseFacts(await readFile(new URL('../PLATFORM.md', import.meta.url), 'utf8'))
await writeFile(readme, withGaps(withMatrix(await readFile(readme, 'utf8'), supportMatrix()), facts))
