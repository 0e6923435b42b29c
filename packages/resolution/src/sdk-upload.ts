import { ApiClient, type ConnectionConfig, type ConnectionOpts, type TemplateBuilder } from 'e2b'
import { ResolutionError } from './errors.ts'
import { untilAborted } from './flight.ts'
import { errorOfSdkBuild } from './sdk-errors.ts'
import type { BuildHandle, BuildRequest } from './template-api.ts'
import { assertSources } from './template-content.ts'

/** A build of a template with COPY steps, in the hands of the SDK. */
export interface Upload {
  /** The build, as soon as E2B answered the request for it; its files are not sent before {@link Upload.start}. */
  readonly requested: Promise<BuildHandle>
  /** Settles when nothing of it goes on any more; never rejects. */
  readonly ended: Promise<void>
  /** Sends the files and starts the build. Call it once. */
  start(): Promise<void>
}

export interface UploadConnection {
  readonly config: ConnectionConfig
  readonly options: ConnectionOpts
  /** Cuts it off, whatever it is at. */
  readonly signal: AbortSignal
}

const REQUEST = '/v3/templates'

/**
 * The SDK packs, hashes and uploads the files of COPY steps in code it does not export, between its own request and
 * start, and tells the build's id at the end alone. Doing that again here would have to follow every change of its
 * archive format. So the builder is given a client that looks on: it takes the id from the answer to the request, holds
 * the rest until it is wanted and, for a build that was requested before, answers the request itself.
 */
export function beginUpload(
  request: BuildRequest,
  { config, options, signal }: UploadConnection,
  registered?: BuildHandle,
): Upload {
  const { cpuCount, memoryMB, ref, skipCache = false, template } = request
  const requested = deferred<BuildHandle>()
  const wanted = deferred<undefined>()
  const client = new ApiClient(config)
  client.api.use({
    onRequest: async ({ schemaPath }) => {
      if (schemaPath !== REQUEST) return undefined
      if (registered !== undefined) return answerFor(registered)
      // A builder may make its files when it is built, so this is the first moment they can be missed.
      await assertSources(ref, template)
      return undefined
    },
    onResponse: async ({ response, schemaPath }) => {
      if (schemaPath !== REQUEST || !response.ok) return undefined
      // Read as a whole: the request's deadline would cut off the rest of it while it is held.
      const text = await response.text()
      requested.resolve(handleOf(JSON.parse(text)))
      await untilAborted(wanted.promise, signal)
      return new Response(text, { status: response.status, headers: { 'Content-Type': 'application/json' } })
    },
  })
  const run = async (): Promise<void> => {
    const restore = rememberForce(template)
    try {
      await buildWith(template, [client, config, ref, { ...options, cpuCount, memoryMB, skipCache, signal }])
    } catch (error) {
      signal.throwIfAborted()
      throw errorOfSdkBuild(`build '${ref}'`, error)
    } finally {
      restore()
    }
  }
  const done = run()
  const ended = done.then(() => requested.reject(unusable()), requested.reject)
  // For a build that was requested before nobody waits for it.
  requested.promise.catch(() => undefined)
  return {
    requested: requested.promise,
    ended,
    start: () => {
      wanted.resolve(undefined)
      return done
    },
  }
}

/** What every `Template.build*` hands over to. */
async function buildWith(template: TemplateBuilder, given: readonly unknown[]): Promise<void> {
  const build: unknown = Reflect.get(template, 'build')
  if (typeof build !== 'function') throw unusable()
  await Reflect.apply(build, template, given)
}

const unusable = (): ResolutionError =>
  new ResolutionError({
    code: 'UPLOAD_FAILED',
    message: 'This version of the e2b SDK does not build templates with COPY steps in a known way',
    hint: 'Install a version of e2b that this package names as its peer',
  })

/** `skipCache` marks the SDK's builder for good; this takes the mark off again, so that later builds use the cache. */
function rememberForce(template: TemplateBuilder): () => void {
  const force: unknown = Reflect.get(template, 'force')
  return () => {
    Reflect.set(template, 'force', force)
  }
}

const answerFor = ({ buildId, templateId }: BuildHandle): Response =>
  Response.json(
    { templateID: templateId, buildID: buildId, names: [], aliases: [], tags: [], public: false },
    { status: 202 },
  )

function handleOf(body: unknown): BuildHandle {
  if (typeof body === 'object' && body !== null && 'templateID' in body && 'buildID' in body) {
    const { buildID, templateID } = body
    if (typeof buildID === 'string' && typeof templateID === 'string')
      return { templateId: templateID, buildId: buildID }
  }
  throw new ResolutionError({ code: 'PLATFORM', message: 'E2B answered the request for a build without its id' })
}

interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T) => void
  readonly reject: (reason: unknown) => void
}

const ignore = (): void => undefined

function deferred<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, 'promise'> = { resolve: ignore, reject: ignore }
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...settle }
}
