import { Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import type { ScriptedCommand } from '@warmbox/e2b-emulator'
import { startEmulator } from '../support/emulator.ts'

/** A command that counts how often it really ran. */
function counting(match: string) {
  const count = { runs: 0 }
  const row: ScriptedCommand = {
    match,
    answer: () => {
      count.runs += 1
      return {}
    },
  }
  return { count, row }
}

const installing = () => Template().fromImage('node:24').runCmd('npm ci')
const withEnv = (value: string) => Template().fromImage('node:24').setEnvs({ A: value }).runCmd('npm ci')
const child = () => Template().fromTemplate('parent:v1').runCmd('npm ci')
const prepared = () => Template().fromImage('node:24').setEnvs({ A: '1' }).setWorkdir('/srv').setUser('root')

describe('the layer cache', () => {
  test('serves a step built before, whatever the template is called [B42]', async () => {
    const { count, row } = counting('npm ci')
    const { connection } = await startEmulator({ commands: [row] })
    const lines: string[] = []
    await Template.build(installing(), 'one', connection)
    await Template.build(installing(), 'two', {
      ...connection,
      onBuildLogs: ({ message }) => lines.push(message),
    })
    expect(count.runs).toBe(1)
    expect(lines).toContain('[builder 1/1] CACHED RUN npm ci')
  })

  test('is keyed by the text of the image [B43]', async () => {
    const { count, row } = counting('npm ci')
    const { connection } = await startEmulator({ commands: [row] })
    await Template.build(installing(), 'one', connection)
    await Template.build(Template().fromImage('node:22').runCmd('npm ci'), 'two', connection)
    expect(count.runs).toBe(2)
  })

  test('is keyed by every step before [B45]', async () => {
    const { count, row } = counting('npm ci')
    const { connection } = await startEmulator({ commands: [row] })
    await Template.build(withEnv('1'), 'one', connection)
    await Template.build(withEnv('2'), 'two', connection)
    await Template.build(withEnv('1'), 'three', connection)
    expect(count.runs).toBe(2)
  })

  test('is not keyed by CPU or memory [B47]', async () => {
    const { count, row } = counting('npm ci')
    const { connection } = await startEmulator({ commands: [row] })
    await Template.build(installing(), 'one', connection)
    await Template.build(installing(), 'two', { ...connection, cpuCount: 8, memoryMB: 8192 })
    expect(count.runs).toBe(1)
  })

  test('is keyed by the build of a parent template, not by its name [B44]', async () => {
    const { count, row } = counting('npm ci')
    const { connection } = await startEmulator({ commands: [row] })
    await Template.build(Template().fromImage('node:24'), 'parent:v1', connection)
    await Template.build(child(), 'child:v1', connection)
    await Template.build(child(), 'child:v2', connection)
    expect(count.runs).toBe(1)
    await Template.build(Template().fromImage('node:24'), 'parent:v1', connection)
    await Template.build(child(), 'child:v3', connection)
    expect(count.runs).toBe(2)
  })

  test('keeps the layers of a build that failed later [B51]', async () => {
    const { count, row } = counting('npm ci')
    const broken: ScriptedCommand = { match: 'npm test', answer: { exitCode: 1 } }
    const { connection } = await startEmulator({ commands: [row, broken] })
    const bad = Template().fromImage('node:24').runCmd('npm ci').runCmd('npm test')
    await expect(Template.build(bad, 'one', connection)).rejects.toThrow('exit status 1')
    await Template.build(installing(), 'one', connection)
    expect(count.runs).toBe(1)
  })

  test('is passed by skipCache on the build: every step runs [B49]', async () => {
    const { count, row } = counting('npm ci')
    const { connection } = await startEmulator({ commands: [row] })
    await Template.build(installing(), 'one', connection)
    await Template.build(installing(), 'one', { ...connection, skipCache: true })
    expect(count.runs).toBe(2)
  })

  test('is passed from a skipCache() in the chain on [B50]', async () => {
    const first = counting('npm ci')
    const second = counting('npm run build')
    const { connection } = await startEmulator({ commands: [first.row, second.row] })
    await Template.build(Template().fromImage('node:24').runCmd('npm ci').runCmd('npm run build'), 'one', connection)
    await Template.build(
      Template().fromImage('node:24').runCmd('npm ci').skipCache().runCmd('npm run build'),
      'one',
      connection,
    )
    expect([first.count.runs, second.count.runs]).toEqual([1, 2])
  })

  test('hands the user, directory and environment of a cached step to the next', async () => {
    const seen: { user: string; cwd: string; value: string | undefined }[] = []
    const look: ScriptedCommand = {
      match: /^look/,
      answer: ({ user, cwd, env }) => {
        seen.push({ user, cwd, value: env['A'] })
        return {}
      },
    }
    const { connection } = await startEmulator({ commands: [look] })
    await Template.build(prepared().runCmd('look 1'), 'one', connection)
    await Template.build(prepared().runCmd('look 2'), 'two', connection)
    expect(seen).toEqual([
      { user: 'root', cwd: '/srv', value: '1' },
      { user: 'root', cwd: '/srv', value: '1' },
    ])
  })
})
