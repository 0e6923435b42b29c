import { digestText } from '@warmbox/identity'
import { ApiClient, ConnectionConfig, type ConnectionOpts } from 'e2b'
import { assertConnection } from './connection-checks.ts'
import { ResolutionError } from './errors.ts'
import { errorOfFailure, errorOfResponse } from './sdk-errors.ts'
import { beginUpload, type Upload } from './sdk-upload.ts'
import type {
  BuildHandle,
  BuildLogEntry,
  BuildProgress,
  BuildRequest,
  BuildSummary,
  TagAssignment,
  TemplateApi,
  TemplateStatus,
} from './template-api.ts'
import { buildBodyOf, copiesFiles } from './template-content.ts'

/** What openapi-fetch resolves with; `data` is set for a 2xx answer with a body. */
interface Answer<Data> {
  data?: Data
  error?: unknown
  response: Response
}

/** Most builds E2B lists at once. */
const LARGEST_PAGE = 100

/** Identifies one account at one endpoint; a key must never be readable from it. */
const scopeOf = (apiUrl: string, apiKey: string): string =>
  digestText(`warmbox.scope\n${apiUrl}\n${apiKey}`).slice(0, 32)

interface Session {
  readonly config: ConnectionConfig
  readonly client: ApiClient
  readonly scope: string
}

function openSession(connection: ConnectionOpts): Session {
  const config = new ConnectionConfig(connection)
  if (config.apiKey === undefined || config.apiKey === '') {
    throw new ResolutionError({
      code: 'MISSING_API_KEY',
      message: 'An E2B API key is required and none was given',
      hint: "Pass apiKey: 'e2b_...' or set the environment variable E2B_API_KEY; an access token does not replace it",
    })
  }
  return { config, client: new ApiClient(config), scope: scopeOf(config.apiUrl, config.apiKey) }
}

class SdkTemplateApi implements TemplateApi {
  readonly #connection: ConnectionOpts
  #session: Session | undefined
  /** Those whose build is requested and not started, by its id. */
  readonly #uploads = new Map<string, Upload>()

  constructor(connection: ConnectionOpts) {
    this.#connection = Object.freeze({ ...connection })
  }

  get #open(): Session {
    this.#session ??= openSession(this.#connection)
    return this.#session
  }

  get scope(): string {
    return this.#open.scope
  }

  async status(ref: string, signal?: AbortSignal): Promise<TemplateStatus> {
    const { response, error } = await this.#alias(
      ref.includes(':') ? ref : `${ref}:default`,
      `look up '${ref}'`,
      signal,
    )
    switch (response.status) {
      case 200:
        return 'ready'
      case 404:
        return 'missing'
      case 403:
        await this.#assertAccepted(signal)
        return 'foreign'
      default:
        throw errorOfResponse(`look up '${ref}'`, response, error)
    }
  }

  /**
   * E2B answers 403 for a name of another account, and for everything to an account it has shut out. What concerns the
   * account alone tells them apart.
   */
  async #assertAccepted(signal: AbortSignal | undefined): Promise<void> {
    const operation = 'list one sandbox of this account'
    const { response, error } = await this.#ask(operation, signal, (client, requestSignal) =>
      client.api.GET('/v2/sandboxes', { params: { query: { limit: 1 } }, ...requestSignal }),
    )
    if (response.status === 401 || response.status === 403) throw errorOfResponse(operation, response, error)
  }

  async templateId(name: string, signal?: AbortSignal): Promise<string | undefined> {
    const operation = `look up the template '${name}'`
    const { data, response, error } = await this.#alias(name, operation, signal)
    if (response.status === 404 || response.status === 403) return undefined
    if (data === undefined) throw errorOfResponse(operation, response, error)
    return data.templateID
  }

  async tags(name: string, signal?: AbortSignal): Promise<readonly TagAssignment[] | undefined> {
    const operation = `list the tags of '${name}'`
    const { data, response, error } = await this.#ask(operation, signal, (client, requestSignal) =>
      client.api.GET('/templates/{templateID}/tags', {
        params: { path: { templateID: name } },
        ...requestSignal,
      }),
    )
    if (response.status === 404 || response.status === 403) return undefined
    if (data === undefined) throw errorOfResponse(operation, response, error)
    return data.map(({ tag, buildID, createdAt }) => ({ tag, buildId: buildID, createdAt: new Date(createdAt) }))
  }

  async requestBuild(request: BuildRequest, signal?: AbortSignal): Promise<BuildHandle> {
    const { ref, cpuCount, memoryMB } = request
    const operation = `build '${ref}'`
    if (copiesFiles(await buildBodyOf(request.template))) return this.#requestWithUpload(request, signal)
    signal?.throwIfAborted()
    // The tag travels inside the name alone: `name:default` together with a list of tags would not get `default`.
    const { data, response, error } = await this.#ask(operation, undefined, (client, requestSignal) =>
      client.api.POST('/v3/templates', { body: { name: ref, cpuCount, memoryMB }, ...requestSignal }),
    )
    if (data === undefined) throw errorOfResponse(operation, response, error)
    return { templateId: data.templateID, buildId: data.buildID }
  }

  async #requestWithUpload(request: BuildRequest, signal: AbortSignal | undefined): Promise<BuildHandle> {
    const upload = this.#upload(request, signal)
    const build = await upload.requested
    this.#uploads.set(build.buildId, upload)
    void upload.ended.then(() => this.#uploads.delete(build.buildId))
    return build
  }

  #upload(request: BuildRequest, signal: AbortSignal | undefined, registered?: BuildHandle): Upload {
    const merged = this.#merge(signal) ?? new AbortController().signal
    merged.throwIfAborted()
    const { config } = this.#open
    return beginUpload(request, { config, options: this.#connection, signal: merged }, registered)
  }

  async startBuild(build: BuildHandle, request: BuildRequest, signal?: AbortSignal): Promise<void> {
    const content = await buildBodyOf(request.template)
    if (copiesFiles(content)) {
      const upload = this.#uploads.get(build.buildId) ?? this.#upload(request, signal, build)
      this.#uploads.delete(build.buildId)
      return upload.start()
    }
    const body = request.skipCache === true ? { ...content, force: true } : content
    const operation = `start the build of '${request.ref}'`
    const { response, error } = await this.#ask(operation, signal, (client, requestSignal) =>
      client.api.POST('/v2/templates/{templateID}/builds/{buildID}', {
        params: { path: { templateID: build.templateId, buildID: build.buildId } },
        body,
        ...requestSignal,
      }),
    )
    if (!response.ok) throw errorOfResponse(operation, response, error)
  }

  async buildProgress(build: BuildHandle, logsOffset: number, signal?: AbortSignal): Promise<BuildProgress> {
    const operation = `read the state of build '${build.buildId}'`
    const { data, response, error } = await this.#ask(operation, signal, (client, requestSignal) =>
      client.api.GET('/templates/{templateID}/builds/{buildID}/status', {
        params: { path: { templateID: build.templateId, buildID: build.buildId }, query: { logsOffset } },
        ...requestSignal,
      }),
    )
    if (data === undefined) throw errorOfResponse(operation, response, error)
    const logs = data.logEntries.map((entry): BuildLogEntry => ({
      timestamp: new Date(entry.timestamp),
      level: entry.level,
      message: entry.message,
    }))
    const { reason } = data
    if (reason === undefined) return { state: data.status, logs }
    const failure = { message: reason.message, ...(reason.step === undefined ? {} : { step: reason.step }) }
    return { state: data.status, logs, failure }
  }

  async assignTags(ref: string, tags: readonly string[], signal?: AbortSignal): Promise<void> {
    const operation = `tag '${ref}'`
    const { response, error } = await this.#ask(operation, signal, (client, requestSignal) =>
      client.api.POST('/templates/tags', { body: { target: ref, tags: [...tags] }, ...requestSignal }),
    )
    if (!response.ok) throw errorOfResponse(operation, response, error)
  }

  async removeTags(name: string, tags: readonly string[], signal?: AbortSignal): Promise<void> {
    const operation = `remove tags of '${name}'`
    const { response, error } = await this.#ask(operation, signal, (client, requestSignal) =>
      client.api.DELETE('/templates/tags', { body: { name, tags: [...tags] }, ...requestSignal }),
    )
    if (!response.ok) throw errorOfResponse(operation, response, error)
  }

  async listBuilds(templateId: string, signal?: AbortSignal): Promise<readonly BuildSummary[]> {
    const operation = `list the builds of template '${templateId}'`
    const builds: BuildSummary[] = []
    let next: string | undefined
    do {
      const nextToken = next
      const { data, response, error } = await this.#ask(operation, signal, (client, requestSignal) =>
        client.api.GET('/templates/{templateID}', {
          params: {
            path: { templateID: templateId },
            query: { limit: LARGEST_PAGE, ...(nextToken === undefined ? {} : { nextToken }) },
          },
          ...requestSignal,
        }),
      )
      if (data === undefined) throw errorOfResponse(operation, response, error)
      builds.push(
        ...data.builds.map(({ buildID, status, createdAt }) => ({
          buildId: buildID,
          state: status,
          createdAt: new Date(createdAt),
        })),
      )
      next = response.headers.get('X-Next-Token') || undefined
    } while (next !== undefined)
    return builds
  }

  #alias(alias: string, operation: string, signal: AbortSignal | undefined) {
    return this.#ask(operation, signal, (client, requestSignal) =>
      client.api.GET('/templates/aliases/{alias}', { params: { path: { alias } }, ...requestSignal }),
    )
  }

  #merge(signal: AbortSignal | undefined): AbortSignal | undefined {
    const { signal: own } = this.#connection
    if (own === undefined || signal === undefined) return signal ?? own
    return AbortSignal.any([own, signal])
  }

  async #ask<Data>(
    operation: string,
    signal: AbortSignal | undefined,
    send: (client: ApiClient, requestSignal: { signal?: AbortSignal }) => Promise<Answer<Data>>,
  ): Promise<Answer<Data>> {
    const merged = this.#merge(signal)
    merged?.throwIfAborted()
    const { client, config } = this.#open
    const requestSignal = config.getSignal(undefined, merged)
    try {
      return await send(client, requestSignal === undefined ? {} : { signal: requestSignal })
    } catch (error) {
      merged?.throwIfAborted()
      // The deadline of the request is all that is left to have aborted it.
      throw errorOfFailure(operation, error, requestSignal?.aborted ?? false)
    }
  }
}

/**
 * E2B behind {@link TemplateApi}, through the SDK's own typed client: its proxy, headers, timeouts and retries after a
 * rate limit apply. Creating it reads nothing and sends nothing.
 *
 * @throws ResolutionError `INVALID_SPEC` at once for a misspelt option; `MISSING_API_KEY` at the first use where neither
 * `apiKey` nor E2B_API_KEY is given.
 */
export const createTemplateApi = (connection: ConnectionOpts = {}): TemplateApi => {
  assertConnection(connection)
  return new SdkTemplateApi(connection)
}
