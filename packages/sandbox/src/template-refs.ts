import { createDefaultMountableTemplate, ensureTemplate, resolveTemplate } from '@warmbox/resolution'
import type { SandboxHost } from './host.ts'
import { requestedResources } from './requested-resources.ts'

/** The configured template's ref, built where nothing is ready. */
export async function resolveConfigured(host: SandboxHost, signal: AbortSignal | undefined): Promise<string> {
  const { buildTimeoutMs, clock, lease, strictTemplate, template, waitUntil } = host.options
  const { ref } = await resolveTemplate(template, {
    api: host.connection().templates,
    signal,
    onEvent: (event) => host.emit(event),
    buildTimeoutMs,
    strictTemplate,
    waitUntil,
    lease,
    clock,
  })
  return ref
}

/** Builds the default template, at the size the configured one asks for, whether or not it exists. */
export async function buildDefault(host: SandboxHost, signal: AbortSignal | undefined): Promise<string> {
  const { buildTimeoutMs, clock, lease } = host.options
  const { id, template, resources } = createDefaultMountableTemplate(requestedResources(host.options.template))
  const { ref } = await ensureTemplate(
    { ref: `${id}:default`, template, buildResources: resources },
    {
      api: host.connection().templates,
      force: true,
      signal,
      onEvent: (event) => host.emit(event),
      buildTimeoutMs,
      lease,
      clock,
    },
  )
  return ref
}
