import { classifyBootError, ResolutionError, TemplateUnusableError } from '@warmbox/resolution'
import {
  AuthenticationError,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  ServiceBusyError,
  TimeoutError,
} from 'e2b'
import { expect, test } from 'vitest'
import { createAnswer } from './support/world.ts'

const withStatus = <E extends Error>(error: E, statusCode: number): E => Object.assign(error, { statusCode })

test.each([
  ['create answered 404 for a template', createAnswer(404, "template 'x' not found"), 'unusable'],
  ['create answered 404 for a tag', createAnswer(404, "tag 't' does not exist for template 'x'"), 'unusable'],
  ['the error of a provider', new TemplateUnusableError('x:t'), 'unusable'],
  ['an API without the create route', createAnswer(404, 'validation error: no matching operation'), 'propagate'],
  ['a missing sandbox', withStatus(new SandboxNotFoundError('Sandbox x not found'), 404), 'propagate'],
  ['words alone', new Error("404: template 'x' not found"), 'propagate'],
  ['400', createAnswer(400, '404: template not found'), 'propagate'],
  ['403', createAnswer(403, 'team is banned'), 'propagate'],
  ['500', createAnswer(500, 'sandbox_create_failed'), 'ambiguous'],
  ['504', createAnswer(504, 'sandbox_placement_timeout'), 'ambiguous'],
  ['no status', new SandboxError('unexpected'), 'ambiguous'],
  ['401', new AuthenticationError('no'), 'propagate'],
  ['429', new RateLimitError('too many'), 'propagate'],
  ['503', new ServiceBusyError('busy'), 'propagate'],
  ['the timeout of a stream', new TimeoutError('late'), 'ambiguous'],
  ['the timeout of a request', new DOMException('late', 'TimeoutError'), 'ambiguous'],
  ['a lost connection', new TypeError('fetch failed'), 'ambiguous'],
  ['the platform, in our words', new ResolutionError({ code: 'PLATFORM', message: 'no' }), 'ambiguous'],
  ['the network, in our words', new ResolutionError({ code: 'NETWORK', message: 'no' }), 'ambiguous'],
  ['an abort', new DOMException('aborted', 'AbortError'), 'propagate'],
  ['another error of ours', new ResolutionError({ code: 'NOT_FOUND', message: 'no' }), 'propagate'],
  ['no error at all', 'template not found', 'propagate'],
] as const)('%s', (_what, error, expected) => {
  expect(classifyBootError(error)).toBe(expected)
})
