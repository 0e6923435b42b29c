/**
 * Runs every workspace package's `bench` script, one after another so that none disturbs another's figures. Each
 * prints one JSON object of named numbers as its last line; `--json` ends with all of them merged in one object.
 */
import { spawn } from 'node:child_process'
import { readFile, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'

type Figures = Readonly<Record<string, number>>

const root = resolve(import.meta.dirname, '../../..')
const json = process.argv.includes('--json')

const figures: Record<string, number> = {}
for (const directory of await directoriesWithBenchmarks()) {
  const measured = await measure(directory)
  for (const [name, value] of Object.entries(measured)) {
    if (name in figures) throw new Error(`Two benchmarks report a figure named ${name}`)
    figures[name] = value
  }
}
if (json) console.log(JSON.stringify(figures))
else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(32)} ${value}`)

async function directoriesWithBenchmarks(): Promise<string[]> {
  const folders = ['packages', 'apps']
  const candidates = await Promise.all(
    folders.map(async (folder) => (await readdir(join(root, folder))).map((entry) => join(root, folder, entry))),
  )
  const found: string[] = []
  for (const directory of candidates.flat()) {
    const manifest: { scripts?: Record<string, string> } = JSON.parse(
      await readFile(join(directory, 'package.json'), 'utf8'),
    )
    if (manifest.scripts?.['bench'] !== undefined) found.push(directory)
  }
  return found
}

async function measure(directory: string): Promise<Figures> {
  // What a benchmark prints besides its figures is for a person and goes to stderr, so that stdout stays parseable.
  const child = spawn('pnpm', ['run', '--silent', 'bench'], { cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk
    process.stderr.write(chunk)
  })
  const code = await new Promise<number | null>((done, failed) => child.once('error', failed).once('close', done))
  if (code !== 0) throw new Error(`The benchmark in ${directory} ended with ${code}`)
  const last = output.trimEnd().split('\n').at(-1) ?? ''
  const parsed: unknown = JSON.parse(last)
  if (!isFigures(parsed)) throw new Error(`The benchmark in ${directory} must end with one JSON object of numbers`)
  return parsed
}

function isFigures(value: unknown): value is Figures {
  return (
    typeof value === 'object' && value !== null && Object.values(value).every((figure) => typeof figure === 'number')
  )
}
