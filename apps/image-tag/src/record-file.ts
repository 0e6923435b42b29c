import type { Stats } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

import { fail } from './error.ts'
import { plain } from './plain.ts'
import { cannotRead } from './present.ts'
import { readRecord, writeRecord } from './record.ts'
import type { Recorded } from './recorded.ts'
import { systemCode } from './system-code.ts'

/** Many times what the largest inputs come to in practice. */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Reads the record at `path`, of which `stats` is known.
 *
 * @throws ImageTagError `RECORD_INVALID` also for what is no regular file, which might never end, or larger than 4 MiB.
 */
export async function readRecordFile(path: string, stats: Stats): Promise<Recorded> {
  const hint = 'Give a checkout, or a file written by --record.'
  if (!stats.isFile()) fail('RECORD_INVALID', `${plain(path)} is no record: it is no regular file.`, hint)
  if (stats.size > MAX_BYTES) {
    fail('RECORD_INVALID', `${plain(path)} is no record: it is larger than ${MAX_BYTES} bytes.`, hint)
  }
  const text = await readFile(path, 'utf8').catch((error: unknown) => cannotRead(path, error))
  return readRecord(text, path)
}

/**
 * Writes a record.
 *
 * @throws ImageTagError `RECORD_UNWRITABLE`
 */
export async function writeRecordFile(path: string, recorded: Recorded): Promise<void> {
  try {
    await writeFile(path, writeRecord(recorded))
  } catch (error) {
    const code = systemCode(error)
    if (code === undefined) throw error
    const hint = 'Name a file in a directory that exists and can be written to. Nothing was named without the record.'
    fail('RECORD_UNWRITABLE', `--record: ${plain(path)} cannot be written (${code}).`, hint, error)
  }
}
