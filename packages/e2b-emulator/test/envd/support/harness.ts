import { createClient } from '@connectrpc/connect'
import { universalClientResponseFromFetch, type UniversalClientRequest } from '@connectrpc/connect/protocol'
import { createTransport } from '@connectrpc/connect/protocol-connect'
import { Sandbox } from 'e2b'
import { onTestFinished } from 'vitest'
import { createManualClock, type Clock } from '../../../src/clock.ts'
import { createEnvd, type SandboxForEnvd } from '../../../src/envd/index.ts'
import { Filesystem } from '../../../src/envd/generated/filesystem/filesystem_pb.ts'
import { Process } from '../../../src/envd/generated/process/process_pb.ts'
import { listen } from './loopback.ts'
import { createTestMachine } from './machine.ts'

type MachineOptions = Parameters<typeof createTestMachine>[0]

export type EnvdTestOptions = MachineOptions &
  Partial<Pick<SandboxForEnvd, 'accessToken' | 'defaultWorkdir' | 'envs' | 'templateId' | 'resources'>> & {
    readonly clock?: Clock
  }

/** One sandbox behind envd: the SDK's `Sandbox` over a loopback server, and clients of the wire contract in process. */
export async function startEnvd(options: EnvdTestOptions = {}) {
  const machine = await createTestMachine(options)
  const description: SandboxForEnvd = {
    defaultUser: 'user',
    accessToken: undefined,
    defaultWorkdir: undefined,
    envs: {},
    ...options,
    id: 'sandbox-1',
    machine,
  }
  let running = true
  const clock = options.clock ?? createManualClock()
  const envd = createEnvd({
    machineOf: (id) => (running && id === description.id ? description : undefined),
    ...('clock' in options ? { clock } : {}),
  })
  const server = await listen(envd)
  onTestFinished(async () => {
    envd.forget(description.id)
    await server.close()
    await machine.destroy()
  })

  const sandboxWith = (access: { readonly envdAccessToken?: string } = {}) =>
    new Sandbox({
      sandboxId: description.id,
      envdVersion: '0.6.13',
      sandboxUrl: server.url,
      apiUrl: server.url,
      apiKey: 'e2b_0000',
      ...access,
    })
  const rpc = (useBinaryFormat: boolean) =>
    createTransport({
      baseUrl: 'http://envd',
      httpClient: async (request) =>
        universalClientResponseFromFetch(await envd.handle(requestOf(request), description.id)),
      useBinaryFormat,
      interceptors: [],
      acceptCompression: [],
      sendCompression: null,
      compressMinBytes: 1024,
      readMaxBytes: 0xffffffff,
      writeMaxBytes: 0xffffffff,
    })

  return {
    envd,
    machine,
    url: server.url,
    sandbox: sandboxWith(options.accessToken === undefined ? {} : { envdAccessToken: options.accessToken }),
    sandboxWith,
    /** Clients of our own descriptors, without a socket between. */
    processes: (format: 'json' | 'binary' = 'json') => createClient(Process, rpc(format === 'binary')),
    filesystem: (format: 'json' | 'binary' = 'json') => createClient(Filesystem, rpc(format === 'binary')),
    fetch: (path: string, init?: RequestInit) => envd.handle(new Request(`http://envd${path}`, init), description.id),
    /** What a kill does: the platform no longer knows the sandbox, and envd forgets it. */
    kill: () => {
      running = false
      envd.forget(description.id)
    },
  }
}

/** A streamed body has to say that it is one, which the protocol library leaves out. */
function requestOf({ url, method, header, body, signal }: UniversalClientRequest): Request {
  return new Request(url, {
    method,
    headers: header,
    ...(body === undefined ? {} : { body: ReadableStream.from(body), duplex: 'half' }),
    ...(signal === undefined ? {} : { signal }),
  })
}
