/** A process that starts sessions, as a host does, and tells its parent what came of them. */
import { createClient } from '@redis/client'
import { type BuildLease, createMemoryLease, settleBackgroundBuilds } from '@warmbox/resolution'
import { createRedisLease } from '@warmbox/resolution/redis'
import { runFaults } from './faults-worker.ts'
import { runHeads } from './heads-worker.ts'
import type { LeaseChoice, Task, WorkerResult } from './messages.ts'
import { Parent } from './parent.ts'
import { runStorm } from './storm-worker.ts'

let unhandled = 0
process.on('unhandledRejection', (reason) => {
  unhandled += 1
  console.error('unhandled rejection:', reason)
})

const task: Task = JSON.parse(process.argv[2] ?? '')
const parent = new Parent()
const closings: (() => void)[] = []

async function leaseOf(choice: LeaseChoice): Promise<BuildLease> {
  if (choice === 'none') return createMemoryLease()
  if (choice === 'shared') return parent.lease()
  const client = createClient({ socket: { host: '127.0.0.1', port: choice } })
  await client.connect()
  closings.push(() => client.destroy())
  return createRedisLease(client)
}

async function perform(): Promise<Omit<WorkerResult, 'unhandled'>> {
  switch (task.kind) {
    case 'storm':
      return runStorm(task, await leaseOf(task.lease))
    case 'heads':
      return runHeads(task, await leaseOf(task.lease), parent)
    case 'faults':
      return runFaults(task, parent)
  }
}

await parent.ask({ ask: 'begin' })
const result = await perform()
await settleBackgroundBuilds()
for (const close of closings) close()
await parent.finish({ ...result, unhandled })
