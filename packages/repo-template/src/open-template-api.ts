import { createTemplateApi, type TemplateApi } from '@warmbox/resolution'
import type { ConnectionOpts } from 'e2b'

/**
 * E2B for an account that is known: without one the repository's host is not asked either.
 *
 * @throws ResolutionError `INVALID_SPEC` for what the SDK could not connect with, `MISSING_API_KEY`; nothing is sent.
 */
export const openTemplateApi = (connection: ConnectionOpts): TemplateApi => {
  const api = createTemplateApi(connection)
  // It is made of endpoint and key, so that reading it finds out whether there is one.
  void api.scope
  return api
}
