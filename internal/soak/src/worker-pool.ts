import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { createMemoryLease } from '@warmbox/resolution'
import type { FromWorker, Question, Task, ToWorker, WorkerResult } from './messages.ts'

/** What the parent knows and workers ask for. */
export interface Knowledge {
  head(): string
  sandboxes(id: string): number
}

const PROGRAM = join(import.meta.dirname, 'worker.ts')

/** Runs each task in a process of its own. Rejects when one ends without a result; the others are ended then. */
export async function runWorkers(tasks: readonly Task[], knowledge: Knowledge): Promise<WorkerResult[]> {
  const children: ChildProcess[] = []
  const lease = createMemoryLease()
  const { signal } = new AbortController()
  const begin = barrier(tasks.length)
  const answer = async (question: Question): Promise<unknown> => {
    switch (question.ask) {
      case 'begin':
        return begin()
      case 'lease.acquire':
        return lease.acquire(question.key, question.ttlMs, signal)
      case 'lease.renew':
        return lease.renew(question.grant, question.ttlMs, signal)
      case 'lease.release':
        return lease.release(question.grant, signal)
      case 'head':
        return knowledge.head()
      case 'sandboxes':
        return knowledge.sandboxes(question.id)
    }
  }
  try {
    return await Promise.all(
      tasks.map((task) => {
        const child = fork(PROGRAM, [JSON.stringify(task)], {
          execArgv: ['--expose-gc', '--conditions=@warmbox/source'],
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        })
        children.push(child)
        return resultOf(child, answer)
      }),
    )
  } finally {
    for (const child of children) if (child.exitCode === null) child.kill()
  }
}

/** Lets everybody through together. */
function barrier(parties: number): () => Promise<void> {
  const waiting: (() => void)[] = []
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length === parties) for (const pass of waiting) pass()
    })
}

function resultOf(child: ChildProcess, answer: (question: Question) => Promise<unknown>): Promise<WorkerResult> {
  return new Promise((resolve, reject) => {
    let result: WorkerResult | undefined
    child.once('error', reject)
    child.once('exit', (code) => {
      if (result === undefined) reject(new Error(`A worker ended with ${code} and no result`))
      else resolve(result)
    })
    child.on('message', (message: FromWorker) => {
      if (message.kind === 'done') {
        result = message.result
        return
      }
      const { number, question } = message
      const reply = async (): Promise<void> => {
        const value = await answer(question)
        // A worker that has ended waits for no answer.
        if (child.connected) child.send({ number, answer: value ?? null } satisfies ToWorker)
      }
      reply().catch(reject)
    })
  })
}
