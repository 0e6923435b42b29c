import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRealRuntime, type RealRuntimeOptions } from '../../src/runtime/real/index.ts'
import { describeReal, eventually, imageAfter, output } from './support.ts'

const steps = [
  'mkdir -p tree/sub; echo 1 >tree/a; echo 1 >tree/sub/b; echo 1 >gone; ln -s gone link; mkfifo pipe',
  'echo 2 >tree/a; rm gone; sudo rm -rf /etc/skel; sudo mkdir /etc/skel; sudo touch /etc/skel/own',
  'rm -rf tree/sub; mkdir tree/sub; echo 3 >tree/sub/c; sudo rm -rf /usr/share/man; sudo touch /usr/share/man',
  'rm link; echo 4 >link; sudo rm /etc/hosts; sudo rm /usr/bin/tac; chmod 700 tree; echo odd >"a  name"',
  'mv tree moved; sudo rm -rf /srv; sudo ln -s /tmp /srv; sudo sh -c "echo tool >/usr/local/bin/tool"',
  'echo last >last',
]
const look = [
  'find . /etc/skel /srv /usr/share/man /usr/local/bin/tool -printf "%p %y %m %l\\n" | grep -v "\\.bashrc\\|\\.profile" | sort',
  'cat moved/a moved/sub/c link last "a  name"; ls /etc/hosts /usr/bin/tac gone tree 2>&1; ls /usr/bin /etc | wc -l',
].join('; ')

/** The layers on the disk and what a machine of the last image shows. */
async function build(options: Partial<RealRuntimeOptions>) {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-flat-'))
  const runtime = await createRealRuntime({ dataDirectory, certificateAuthorities: [], ...options })
  onTestFinished(async () => {
    await runtime.close()
    rmSync(dataDirectory, { recursive: true, force: true })
  })
  const [own = ''] = readdirSync(dataDirectory)
  const layers = () => readdirSync(join(dataDirectory, own)).filter((name) => /^l\w+$/.test(name))
  const start = (image: string) => runtime.createMachine(image, { id: 'm', hostname: 'e2b', purpose: 'build' })
  const image = await imageAfter(runtime, steps, start)
  const inspect = async () => {
    const mounted = await runtime.inspectImage(image)
    return execFileSync('find', ['.', '-printf', '%p %y %l\n'], { cwd: mounted?.directory, encoding: 'utf8' })
  }
  return { layers, inspect, shown: await output(await start(image), look) }
}

describeReal('more layers than an image may have', () => {
  test('are made one that shows and hides the same', async () => {
    const stacked = await build({})
    const flattened = await build({ layerLimit: 3 })
    expect(flattened.shown).toBe(stacked.shown)
    expect((await flattened.inspect()).split('\n').toSorted()).toEqual((await stacked.inspect()).split('\n').toSorted())
    expect(stacked.shown).toContain('./moved/sub/c f')
    expect(stacked.layers()).toHaveLength(steps.length)
    await eventually(() => flattened.layers().length < 3, true)
  })
})
