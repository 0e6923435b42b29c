/**
 * Writes what this package makes of the inputs in `vectors.json` back into it. To add a vector, add its name and input
 * and run `pnpm vectors`; review what else changed, since each change there renames somebody's template.
 */
import { writeFile } from 'node:fs/promises'
import { readVectors, recomputed, vectorsFile } from './vectors.ts'

// Escaped, so that no editor or normalising checkout can turn one input into another that looks the same.
const ascii = JSON.stringify(recomputed(await readVectors()), null, 2).replaceAll(
  /[^\0-~]/g,
  (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
)
await writeFile(vectorsFile, `${ascii}\n`)
