/** Writes the support matrix into the README, from the tables of operations. */
import { readFile, writeFile } from 'node:fs/promises'
import { supportMatrix, withMatrix } from '../src/support-matrix.ts'

const readme = new URL('../README.md', import.meta.url)
await writeFile(readme, withMatrix(await readFile(readme, 'utf8'), supportMatrix()))
