import { HttpRequestInterceptor } from '@mswjs/interceptors/http'
import { defineNetwork, InterceptorSource } from 'msw/experimental'
import { afterAll, afterEach, beforeAll } from 'vitest'

/**
 * Every HTTP request of a test file that imports this, the e2b SDK's included, which bring their own undici past an
 * ordinary msw server. A request without a handler fails.
 */
export const network = defineNetwork({
  sources: [new InterceptorSource({ interceptors: [new HttpRequestInterceptor()] })],
  onUnhandledFrame: 'error',
  context: { quiet: true },
})

beforeAll(() => network.enable())
afterEach(() => network.resetHandlers())
afterAll(() => network.disable())
