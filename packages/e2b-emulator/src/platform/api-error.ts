import type { Schemas } from './contract.ts'

/** A refusal as the control plane words it: `{ code, message }` with the status repeated as the code. */
export class ApiError extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly errorCode: string | undefined

  constructor(
    status: number,
    message: string,
    options: { headers?: Readonly<Record<string, string>>; errorCode?: string; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'ApiError'
    this.status = status
    this.headers = options.headers ?? {}
    this.errorCode = options.errorCode
  }

  toResponse(): Response {
    const body: Schemas['Error'] = {
      code: this.status,
      message: this.message,
      ...(this.errorCode === undefined ? {} : { error_code: this.errorCode }),
    }
    return Response.json(body, { status: this.status, headers: this.headers })
  }
}

export const badRequest = (message: string) => new ApiError(400, message)
export const forbidden = (message: string) => new ApiError(403, message)
export const notFound = (message: string) => new ApiError(404, message)
export const conflict = (message: string) => new ApiError(409, message)

/** A quota refusal. Unlike the rate limiter's 429 it carries no Retry-After, so the SDK does not retry it. */
export const quotaExceeded = (message: string) => new ApiError(429, message)
