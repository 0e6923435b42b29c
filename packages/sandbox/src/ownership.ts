import { unlessGone } from './diagnose.ts'
import { E2BSandboxError } from './errors.ts'
import type { SandboxHost } from './host.ts'
import { LOGICAL_ID_KEY } from './metadata.ts'

/**
 * Looks, without waking it, whether a sandbox carries the logical id of this session. What a host has stored may name
 * the sandbox of another session by now.
 * @returns false where the sandbox does not exist
 * @throws E2BSandboxError `SANDBOX_FOREIGN`
 */
export async function assertCarriesId(host: SandboxHost, sandboxId: string, signal?: AbortSignal): Promise<boolean> {
  const info = await unlessGone(() => host.connection().sandboxes.info(sandboxId, signal))
  if (info === undefined) return false
  if (info.metadata[LOGICAL_ID_KEY] === host.options.id) return true
  throw new E2BSandboxError({
    code: 'SANDBOX_FOREIGN',
    message: `Sandbox ${sandboxId} does not carry the id '${host.options.id}', so it was left alone`,
    hint: 'Give sandboxId alone to take it over whatever it carries, or id alone to find the sandbox of the session',
  })
}
