import type { BuildLease, LeaseGrant } from '@warmbox/resolution'
import type { FromWorker, Question, ToWorker, WorkerResult } from './messages.ts'

/** The process that started this worker. */
export class Parent {
  readonly #open = new Map<number, (answer: unknown) => void>()
  #asked = 0

  constructor() {
    process.on('message', ({ number, answer }: ToWorker) => {
      this.#open.get(number)?.(answer)
      this.#open.delete(number)
    })
  }

  ask(question: Question): Promise<unknown> {
    const number = (this.#asked += 1)
    const answered = new Promise((resolve) => {
      this.#open.set(number, resolve)
    })
    this.#send({ kind: 'question', number, question })
    return answered
  }

  async finish(result: WorkerResult): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      process.send?.({ kind: 'done', result } satisfies FromWorker, (error: Error | null) =>
        error === null ? resolve() : reject(error),
      )
    })
    process.disconnect()
  }

  /** A lease that all workers of the parent share. */
  lease(): BuildLease {
    return {
      acquire: async (key, ttlMs) => {
        const answer = await this.ask({ ask: 'lease.acquire', key, ttlMs })
        return isGrant(answer) ? answer : undefined
      },
      renew: async (grant, ttlMs) => (await this.ask({ ask: 'lease.renew', grant, ttlMs })) === true,
      release: async (grant) => {
        await this.ask({ ask: 'lease.release', grant })
      },
    }
  }

  #send(message: FromWorker): void {
    if (process.send === undefined) throw new Error('A worker is started with an IPC channel')
    process.send(message)
  }
}

const isGrant = (value: unknown): value is LeaseGrant =>
  typeof value === 'object' && value !== null && 'key' in value && 'holder' in value
