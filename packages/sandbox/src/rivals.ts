import type { SandboxHost } from './host.ts'
import { type Candidate, isOurs } from './metadata.ts'

/**
 * Ends the sandboxes beside the one that is kept. Every process orders them alike, so none is killed that another
 * would keep. Those that other software made are reported and left. Never rejects: the session has its sandbox.
 */
export async function endRivals(host: SandboxHost, rivals: readonly Candidate[], keptSandboxId: string): Promise<void> {
  await Promise.all(
    rivals.map(async (rival) => {
      const killed = isOurs(rival) && (await kill(host, rival.sandboxId))
      host.emit({ type: 'sandbox-duplicate', sandboxId: rival.sandboxId, keptSandboxId, killed })
    }),
  )
}

async function kill(host: SandboxHost, sandboxId: string): Promise<boolean> {
  try {
    await host.connection().sandboxes.kill(sandboxId)
    return true
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    host.emit({
      type: 'warning',
      code: 'SANDBOX_MAY_REMAIN',
      message: `Sandbox ${sandboxId} is one too many and could not be killed: ${reason}`,
    })
    return false
  }
}
