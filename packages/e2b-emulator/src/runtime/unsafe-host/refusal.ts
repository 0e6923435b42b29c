import { existsSync } from 'node:fs'
import { EmulatorError } from '../../errors.ts'
import { findOnHost } from '../real/commands.ts'

const requiredTools = ['bash', 'chmod', 'cp', 'mkfifo', 'setsid', 'sh', 'tar']

/**
 * Throws {@link EmulatorError} where commands must not or cannot run as plain processes: `UNSAFE_AS_ROOT`, because
 * nothing would keep them from the whole machine, and `RUNTIME_UNAVAILABLE`.
 */
export function assertUnsafeHostAllowed(userId: number | undefined = process.geteuid?.()): void {
  if (userId === 0)
    throw new EmulatorError('UNSAFE_AS_ROOT', 'unsafe-host does not run as root: commands could change anything', {
      hint: 'Run as a user without privileges, or use the runtime "real", which confines commands and may run as root.',
    })
  if (process.platform !== 'linux' || !existsSync('/proc/self/environ'))
    throw new EmulatorError('RUNTIME_UNAVAILABLE', 'unsafe-host finds its processes through the /proc of Linux', {
      hint: 'Use the runtime "scripted" here.',
    })
  const missing = requiredTools.filter((name) => findOnHost(name) === undefined)
  if (missing.length > 0) throw new EmulatorError('RUNTIME_UNAVAILABLE', `missing on this host: ${missing.join(', ')}`)
}
