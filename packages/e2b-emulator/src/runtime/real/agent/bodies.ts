import type { Readable } from 'node:stream'
import type { Failures } from './accounts.ts'
import type { ServedCall } from './contract.ts'

export interface Bodies {
  /** What the host sends with a call, as a stream that fails when the host breaks off. The reader gives credit itself. */
  receive(call: ServedCall): Readable
}

export function createBodies(failures: Failures): Bodies {
  const stream = process.getBuiltinModule('node:stream')
  return {
    receive(call) {
      const body = new stream.Readable({ read: () => undefined })
      // Heard by whoever iterates; a reader that has stopped before does not care.
      body.on('error', () => undefined)
      call.receive({
        data: (payload) => void body.push(payload),
        end: () => void body.push(null),
        cancel: () => void body.destroy(failures.create('failed', 'the upload was broken off')),
      })
      return body
    },
  }
}
