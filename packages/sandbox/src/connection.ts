import type { ConnectionOpts } from 'e2b'
import { createRedactor, createTemplateApi, type Redactor, type TemplateApi } from '@warmbox/resolution'
import { E2BSandboxError } from './errors.ts'
import type { E2BSandboxOptions } from './options.ts'
import { createSandboxApi, type SandboxApi } from './sdk.ts'

/** One account at one endpoint. */
export interface Connection {
  /** What the SDK is given. Holds the API key. */
  readonly sdk: Readonly<ConnectionOpts>
  readonly sandboxes: SandboxApi
  readonly templates: TemplateApi
  /** Removes the API key from what is thrown or reported. */
  readonly redactor: Redactor
}

/** @throws E2BSandboxError `MISSING_API_KEY` */
export function openConnection(options: E2BSandboxOptions, environment: NodeJS.ProcessEnv = process.env): Connection {
  const apiKey = options.apiKey || environment['E2B_API_KEY']
  if (!apiKey) {
    throw new E2BSandboxError({
      code: 'MISSING_API_KEY',
      message: 'No E2B API key was given',
      hint: 'Pass apiKey, or set the environment variable E2B_API_KEY',
    })
  }
  const sdk: ConnectionOpts = Object.freeze({
    apiKey,
    ...(options.domain === undefined ? {} : { domain: options.domain }),
    ...(options.apiUrl === undefined ? {} : { apiUrl: options.apiUrl }),
    ...(options.sandboxUrl === undefined ? {} : { sandboxUrl: options.sandboxUrl }),
    ...(options.requestTimeoutMs === undefined ? {} : { requestTimeoutMs: options.requestTimeoutMs }),
  })
  const redactor = createRedactor([apiKey])
  return Object.freeze({ sdk, redactor, sandboxes: createSandboxApi(sdk, redactor), templates: createTemplateApi(sdk) })
}
