import { RuntimeError } from '../runtime/port.ts'
import type { SandboxForEnvd } from './sandbox.ts'

/** A user that exists in the machine. */
export interface SandboxUser {
  readonly name: string
  readonly home: string
}

/** The name in `Authorization: Basic base64("<name>:")`; undefined without such a header. The password is not looked at. */
export function userNameFromHeader(header: string | null): string | undefined {
  const credentials = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(header ?? '')?.[1]
  if (credentials === undefined) return undefined
  const [name] = Buffer.from(credentials, 'base64').toString('utf8').split(':')
  return name
}

/** Looks the user up in the machine; undefined where there is none of that name. */
export async function findUser(sandbox: SandboxForEnvd, name: string): Promise<SandboxUser | undefined> {
  try {
    return { name, home: await sandbox.machine.files.homeOf(name) }
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'user-unknown') return undefined
    throw error
  }
}
