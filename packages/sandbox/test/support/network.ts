import { HttpRequestInterceptor } from '@mswjs/interceptors/http'
import { defineNetwork, InterceptorSource } from 'msw/experimental'
import { afterAll, afterEach, beforeAll } from 'vitest'

/**
 * Every HTTP request of a test ends here: the SDK brings its own HTTP client, which only an interceptor below it sees.
 * A request without a handler fails, so no test reaches a network.
 */
export const network = defineNetwork({
  sources: [new InterceptorSource({ interceptors: [new HttpRequestInterceptor()] })],
  onUnhandledFrame: 'error',
  context: { quiet: true },
})

beforeAll(() => network.enable())
afterEach(() => network.resetHandlers())
afterAll(() => network.disable())
