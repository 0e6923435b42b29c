import { createEmulator } from '@warmbox/e2b-emulator'
import { E2BSandbox } from '@warmbox/sandbox'
import { work } from './work.ts'

const onE2B = process.argv.includes('--e2b')
const emulator = onE2B ? undefined : createEmulator({ runtime: 'real' })
try {
  const server = await emulator?.listen()
  const sandbox = new E2BSandbox({ ...server?.connection, template: 'base' })
  const { steps, text } = await work(sandbox)
  for (const { tool, result } of steps) console.log(`${tool}\n  ${result.trim().replaceAll('\n', '\n  ')}`)
  console.log(text)
} finally {
  await emulator?.close()
}
