import { http, HttpResponse, type HttpHandler } from 'msw'
import { decodeEnvelope, FakeProcess, failedStream } from './fake-process.ts'
import { network } from './network.ts'

export const API_KEY = 'e2b_0123456789abcdef0123456789abcdef'
export const DOMAIN = 'e2b.test'
const API = `https://api.${DOMAIN}`

export interface FakeSandbox {
  readonly id: string
  readonly template: string
  readonly metadata: Record<string, string>
  state: 'running' | 'paused'
  startedAt: Date
  /** Bodies of the requests that made or renewed it. */
  readonly create: Record<string, unknown>
  readonly connects: Record<string, unknown>[]
  readonly files: Map<string, Buffer>
  readonly processes: Map<number, FakeProcess>
}

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly body: unknown
}

/** Answers a request in place of the fake; undefined lets it pass on. */
export type Fault = (request: SeenRequest) => Response | undefined | Promise<Response | undefined>

/** The command that a request to the daemon starts. */
export function startedCommand({ path, body }: SeenRequest): string | undefined {
  if (!path.endsWith('/Start') || !isRecord(body) || !isRecord(body['process'])) return undefined
  const { args } = body['process']
  return Array.isArray(args) ? text(args[2]) : undefined
}

/** What E2B answers in the place of a sandbox that is paused or gone. */
export const notThere = (): Response =>
  HttpResponse.json({ message: 'The sandbox was not found', code: 502 }, { status: 502 })

export const apiError = (code: number, message: string): Response =>
  HttpResponse.json({ code, message }, { status: code })

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const strings = (value: unknown): Record<string, string> =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, item]) => [key, text(item)])) : {}

/** E2B in memory: sandboxes, templates that are ready or not, processes the test moves. Over the unmodified SDK. */
export class FakeE2B {
  readonly sandboxes = new Map<string, FakeSandbox>()
  readonly requests: SeenRequest[] = []
  /** Refs (`name:tag`) with a ready build. */
  readonly ready = new Set<string>()
  readonly faults: Fault[] = []
  /** What a started command does. Default: it exits with 0. */
  onStart: (process: FakeProcess, sandbox: FakeSandbox) => void = (process) => process.exit(0)
  /** What the sandboxes answer to who reads the kernel's log: their uptime, then the records that tell of kills. */
  kernelLog = ''
  envdVersion = '0.6.13'
  #count = 0
  #nextPid = 100

  install(): this {
    network.use(...this.#handlers())
    return this
  }

  add(sandbox: Partial<Omit<FakeSandbox, 'files' | 'processes'>> = {}): FakeSandbox {
    const added: FakeSandbox = {
      id: sandbox.id ?? `sbx${++this.#count}`,
      template: sandbox.template ?? 'base',
      metadata: sandbox.metadata ?? {},
      state: sandbox.state ?? 'running',
      startedAt: sandbox.startedAt ?? new Date(),
      create: sandbox.create ?? {},
      connects: [],
      files: new Map(),
      processes: new Map(),
    }
    this.sandboxes.set(added.id, added)
    return added
  }

  /** The only sandbox there is. */
  get only(): FakeSandbox {
    const [first, ...more] = this.sandboxes.values()
    if (first === undefined || more.length > 0) throw new Error(`${this.sandboxes.size} sandboxes instead of one`)
    return first
  }

  paths(method: string): string[] {
    return this.requests.filter((request) => request.method === method).map(({ path }) => path)
  }

  /** Fails requests of one kind, as often as said. */
  fail(method: string, path: RegExp, response: () => Response, times = 1): void {
    let left = times
    this.faults.push((request) => {
      if (left === 0 || request.method !== method || !path.test(request.path)) return undefined
      left -= 1
      return response()
    })
  }

  #handlers(): HttpHandler[] {
    return [
      http.all(`${API}/*`, ({ request }) => this.#answer(request, (seen, url) => this.#control(seen, url))),
      http.all(new RegExp(`^https://\\d+-[a-z0-9]+\\.${DOMAIN}/`), ({ request }) =>
        this.#answer(request, (seen, url) => this.#daemon(seen, url, request)),
      ),
    ]
  }

  async #answer(
    request: Request,
    respond: (seen: SeenRequest, url: URL) => Response | Promise<Response>,
  ): Promise<Response> {
    const url = new URL(request.url)
    const path = currentPath(request.method, decodeURIComponent(url.pathname))
    const seen = { method: request.method, path, body: await readBody(request) }
    this.requests.push(seen)
    for (const fault of this.faults) {
      const response = await fault(seen)
      if (response !== undefined) return response
    }
    return respond(seen, url)
  }

  #control({ method, path, body }: SeenRequest, url: URL): Response {
    const route = `${method} ${path}`
    const [, , second = '', third] = path.split('/')
    const input = isRecord(body) ? body : {}
    if (route === 'POST /v2/sandboxes') return this.#create(input)
    if (route === 'GET /v2/sandboxes') return this.#list(url)
    if (path.startsWith('/v2/sandboxes/')) return this.#connect(path.split('/')[3] ?? '', input)
    if (path.startsWith('/sandboxes/')) return this.#single(method, second, third)
    if (path.startsWith('/templates/aliases/')) {
      return this.ready.has(withTag(third ?? ''))
        ? HttpResponse.json({ templateID: 't1', public: false })
        : apiError(404, 'no')
    }
    if (/^\/templates\/[^/]+\/tags$/.test(path)) {
      const name = second.split(':')[0] ?? ''
      const tags = [...this.ready].filter((ref) => ref.startsWith(`${name}:`)).map((ref) => ref.slice(name.length + 1))
      if (tags.length === 0) return apiError(404, 'no such template')
      return HttpResponse.json(tags.map((tag) => ({ tag, buildID: `b-${tag}`, createdAt: '2026-01-01T00:00:00Z' })))
    }
    return apiError(501, `no route ${route}`)
  }

  #create(input: Record<string, unknown>): Response {
    const ref = text(input['templateID'])
    if (!this.ready.has(withTag(ref))) return apiError(404, `template '${ref}' not found`)
    const sandbox = this.add({ template: ref, metadata: strings(input['metadata']), create: input })
    return HttpResponse.json(this.#session(sandbox), { status: 201 })
  }

  #session(sandbox: FakeSandbox): Record<string, unknown> {
    return {
      sandboxID: sandbox.id,
      templateID: 't1',
      clientID: 'c1',
      envdVersion: this.envdVersion,
      envdAccessToken: 'envd-token',
    }
  }

  #list(url: URL): Response {
    const wanted = new URLSearchParams(url.searchParams.get('metadata') ?? '')
    const matches = [...this.sandboxes.values()].filter(({ metadata }) =>
      [...wanted].every(([key, value]) => metadata[decodeURIComponent(key)] === decodeURIComponent(value)),
    )
    return HttpResponse.json(matches.map((sandbox) => this.#detail(sandbox)))
  }

  #detail(sandbox: FakeSandbox): Record<string, unknown> {
    return {
      ...this.#session(sandbox),
      metadata: sandbox.metadata,
      state: sandbox.state,
      startedAt: sandbox.startedAt.toISOString(),
      endAt: new Date(sandbox.startedAt.getTime() + 300_000).toISOString(),
      cpuCount: 2,
      memoryMB: 1024,
      diskSizeMB: 5120,
    }
  }

  #connect(id: string, input: Record<string, unknown>): Response {
    const sandbox = this.sandboxes.get(id)
    if (sandbox === undefined) return apiError(404, 'sandbox not found')
    sandbox.connects.push(input)
    const resumed = sandbox.state === 'paused'
    sandbox.state = 'running'
    return HttpResponse.json(this.#session(sandbox), { status: resumed ? 201 : 200 })
  }

  #single(method: string, id: string, action: string | undefined): Response {
    const sandbox = this.sandboxes.get(id)
    if (sandbox === undefined) return apiError(404, 'sandbox not found')
    if (method === 'GET') return HttpResponse.json(this.#detail(sandbox))
    if (method === 'DELETE') {
      this.sandboxes.delete(id)
      return new Response(null, { status: 204 })
    }
    if (action === 'pause') {
      if (sandbox.state === 'paused') return apiError(409, 'already paused')
      sandbox.state = 'paused'
      return new Response(null, { status: 204 })
    }
    return apiError(501, `no action ${action}`)
  }

  #daemon({ path, body }: SeenRequest, url: URL, request: Request): Response {
    const id = /^\d+-([a-z0-9]+)\./.exec(url.hostname)?.[1] ?? ''
    const sandbox = this.sandboxes.get(id)
    if (sandbox === undefined || sandbox.state === 'paused') {
      return HttpResponse.json({ sandboxId: id, message: 'The sandbox was not found', code: 502 }, { status: 502 })
    }
    const input = isRecord(body) ? body : {}
    if (path === '/health') return new Response(null, { status: 204 })
    if (path === '/files') return this.#upload(sandbox, url, body)
    if (path === '/process.Process/Start') return this.#start(sandbox, input, request)
    if (path === '/process.Process/List') {
      const running = [...sandbox.processes.values()].filter(({ ended }) => !ended)
      return HttpResponse.json({
        processes: running.map(({ pid, command, envs }) => ({
          pid,
          config: { cmd: '/bin/bash', args: ['-l', '-c', command], envs },
        })),
      })
    }
    return this.#signal(sandbox, path, input)
  }

  #start(sandbox: FakeSandbox, input: Record<string, unknown>, request: Request): Response {
    const config = isRecord(input['process']) ? input['process'] : {}
    const args = Array.isArray(config['args']) ? config['args'] : []
    const limit = request.headers.get('connect-timeout-ms')
    const process = new FakeProcess({
      pid: this.#nextPid++,
      command: text(args[2]),
      cwd: config['cwd'] === undefined ? undefined : text(config['cwd']),
      envs: strings(config['envs']),
      hasStdin: input['stdin'] === true,
      limitMs: limit === null ? undefined : Number(limit),
    })
    sandbox.processes.set(process.pid, process)
    const response = process.events()
    // The search for the children of a killed process, which has none here.
    if (process.command.includes('/proc/[0-9]*/environ')) process.exit(0)
    else if (process.command.includes('/dev/kmsg')) process.stdout(this.kernelLog).exit(0)
    else this.onStart(process, sandbox)
    return response
  }

  #signal(sandbox: FakeSandbox, path: string, input: Record<string, unknown>): Response {
    const selector = isRecord(input['process']) ? input['process'] : {}
    const process = sandbox.processes.get(Number(selector['pid']))
    if (process === undefined || process.ended) {
      if (path.endsWith('/Connect')) return failedStream('not_found', 'no such process')
      return HttpResponse.json({ code: 'not_found', message: 'no such process' }, { status: 404 })
    }
    if (path === '/process.Process/Connect') return process.events()
    if (path === '/process.Process/SendSignal') {
      process.killed = true
      process.signalled()
    } else if (path === '/process.Process/SendInput') {
      const data = isRecord(input['input']) ? text(input['input']['stdin']) : ''
      process.input.push(Buffer.from(data, 'base64').toString())
    } else if (path === '/process.Process/CloseStdin') process.inputClosed = true
    else return apiError(501, `no route ${path}`)
    return HttpResponse.json({})
  }

  #upload(sandbox: FakeSandbox, url: URL, body: unknown): Response {
    const single = url.searchParams.get('path')
    const files = body instanceof Map ? [...body.entries()] : []
    for (const [name, content] of files) sandbox.files.set(single ?? name, content)
    return HttpResponse.json(files.map(([name]) => ({ name, type: 'file', path: single ?? name })))
  }
}

/** Releases of the SDK before 2.51 create and connect under the platform's first routes, which answer alike. */
const currentPath = (method: string, path: string): string =>
  method === 'POST' && /^\/sandboxes(\/[^/]+\/connect)?$/.test(path) ? `/v2${path}` : path

const withTag = (ref: string): string => (ref.includes(':') ? ref : `${ref}:default`)

async function readBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  if (type.includes('connect+json')) return decodeEnvelope(await request.arrayBuffer())
  if (type.includes('json')) {
    const body = await request.text()
    return body === '' ? undefined : JSON.parse(body)
  }
  if (type.includes('multipart/form-data')) return readFiles(await request.formData())
  return undefined
}

async function readFiles(form: FormData): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>()
  for (const part of form.values()) {
    if (part instanceof File) files.set(part.name, Buffer.from(await part.arrayBuffer()))
  }
  return files
}
