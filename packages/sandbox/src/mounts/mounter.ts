import type { FilesystemMountConfig, MountResult, WorkspaceFilesystem } from '@mastra/core/workspace'
import { createRedactor, type Redactor } from '@warmbox/resolution'
import { E2BSandboxError } from '../errors.ts'
import { mountDirectory } from './inputs.ts'
import { configHash, type MountMarker, parseMarker, siteFiles } from './marker.ts'
import type { MountPlan, MountSite } from './plan.ts'
import { planMount } from './plan-mount.ts'
import {
  inspectScript,
  installScript,
  logScript,
  markersScript,
  mountScript,
  reserveScript,
  SCRIPT_EXIT,
  unmountScript,
} from './scripts.ts'

/** What mounting needs of a sandbox. */
export interface MountHost {
  /** Runs a script to its end. A non-zero exit is a result. */
  run(script: string, options: { readonly as: 'root' | 'default'; readonly limitMs: number }): Promise<ScriptResult>
  /** Replaces the content of a file of root's. */
  writeAsRoot(path: string, content: string): Promise<void>
}

export interface ScriptResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

const QUICK_MS = 60_000
const MOUNT_MS = 180_000
const INSTALL_MS = 600_000

/** Mounts cloud storage in one sandbox. Mounts at different paths share nothing and may be made at once. */
export class Mounter {
  readonly #host: MountHost

  constructor(host: MountHost) {
    this.#host = host
  }

  /**
   * Mounts a file system, or finds it mounted with the same configuration. What fails is told in the result, without
   * any credential; a type nobody can mount here is told as `unavailable`.
   */
  async mount(filesystem: WorkspaceFilesystem, path: string): Promise<MountResult> {
    const { config, failure } = askConfig(filesystem)
    if (failure !== undefined) return { success: false, mountPath: path, error: failure }
    if (config === undefined) {
      return unavailable(path, `The ${filesystem.provider} file system has no mount configuration`)
    }
    let redactor: Redactor = createRedactor([])
    try {
      const mountPath = mountDirectory(path)
      const plan = planMount(config)
      if (plan === undefined) return unavailable(path, `Mounts of type '${config.type}' are not supported here`)
      redactor = createRedactor(plan.secrets)
      await this.#mount(plan, config, mountPath)
      return { success: true, mountPath: path }
    } catch (error) {
      if (!(error instanceof E2BSandboxError)) throw redactor.error(error)
      const hint = error.hint === undefined ? '' : ` (${error.hint})`
      return { success: false, mountPath: path, error: redactor.text(`${error.message}${hint}`) }
    }
  }

  /**
   * Unmounts what was mounted at a path and removes its credentials. A path that no mount of ours is at is left alone.
   * @throws E2BSandboxError `MOUNT_FAILED` where it stays mounted
   */
  async unmount(path: string): Promise<void> {
    const mountPath = mountDirectory(path)
    const marker = (await this.#markers()).find((candidate) => candidate.mountPath === mountPath)
    if (marker !== undefined) await this.#remove(marker)
  }

  /** Unmounts every mount of ours but those at these paths. Mounts that others made are left alone. */
  async reconcile(expected: readonly string[]): Promise<void> {
    const kept = new Set(expected.map(mountDirectory))
    const stale = (await this.#markers()).filter(({ mountPath }) => !kept.has(mountPath))
    await Promise.all(stale.map((marker) => this.#remove(marker)))
  }

  async #mount(plan: MountPlan, config: FilesystemMountConfig, mountPath: string): Promise<void> {
    const files = siteFiles(mountPath)
    const [found, owner] = await Promise.all([this.#inspect(mountPath, plan.program, files.marker), this.#owner()])
    const hash = configHash(config)
    if (found.isMounted && found.marker?.configHash === hash) return
    if (found.marker !== undefined) await this.#remove(found.marker)
    else if (found.isMounted) fail(`${mountPath} is a mount point of something else`, 'Choose another path')
    else if (!found.isEmpty) fail(`${mountPath} is not empty`, 'Choose another path, or move the files away')
    if (!found.hasProgram) await this.#install(plan)

    const site: MountSite = {
      mountPath,
      credentialsFile: files.credentials,
      cacheDirectory: files.cache,
      logFile: files.log,
      ...owner,
    }
    // The directory of a mount that was just removed went with it.
    const madeDirectory = !found.exists || found.marker?.madeDirectory === true
    const marker: MountMarker = { mountPath, configHash: hash, madeDirectory }
    try {
      if (plan.credentials !== undefined) {
        await this.#asRoot(reserveScript(files.credentials), QUICK_MS, 'The credentials file could not be made')
        await this.#host.writeAsRoot(files.credentials, plan.credentials(site))
      }
      // Written first: a mount that was cut short is known as ours, and removed by the next try.
      await this.#host.writeAsRoot(files.marker, JSON.stringify(marker))
      await this.#perform(plan, site)
    } catch (error) {
      await this.#clean(marker, error)
      throw error
    }
  }

  async #perform(plan: MountPlan, site: MountSite): Promise<void> {
    const { exitCode, stderr } = await this.#host.run(mountScript(plan, site), { as: 'root', limitMs: MOUNT_MS })
    if (exitCode === 0) return
    const log = await this.#host.run(logScript(site.logFile), { as: 'root', limitMs: QUICK_MS })
    const said = `${stderr}\n${log.stdout}`.trim()
    fail(
      `${plan.source} could not be mounted at ${site.mountPath}: ${reasonOf(exitCode, plan.program)}${said === '' ? '' : `: ${said}`}`,
      'Check the bucket, its region or endpoint, and the credentials',
    )
  }

  async #inspect(mountPath: string, program: string, markerFile: string) {
    const script = inspectScript(mountPath, program, markerFile)
    const lines = (await this.#asRoot(script, QUICK_MS, 'The mount path could not be looked at')).split('\n')
    const answer = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1)
    const marker = answer('marker')
    return {
      isMounted: answer('mounted') === 'yes',
      exists: answer('exists') === 'yes',
      isEmpty: answer('empty') !== 'no',
      hasProgram: answer('program') === 'yes',
      marker: marker === undefined ? undefined : parseMarker(marker),
    }
  }

  /** The user commands run as, whose files the mounted ones shall be. */
  async #owner(): Promise<{ uid: number; gid: number }> {
    const { stdout } = await this.#host.run('id -u; id -g', { as: 'default', limitMs: QUICK_MS })
    const [uid, gid] = stdout.trim().split('\n').map(Number)
    if (!Number.isInteger(uid) || !Number.isInteger(gid)) fail('The user of the sandbox could not be told', undefined)
    return { uid: uid ?? 0, gid: gid ?? 0 }
  }

  async #install(plan: MountPlan): Promise<void> {
    const failure = `${plan.program} is not in the template and could not be installed`
    await this.#asRoot(installScript(plan), INSTALL_MS, failure, `Install ${plan.program} in the template`)
  }

  async #markers(): Promise<readonly MountMarker[]> {
    const text = await this.#asRoot(markersScript(), QUICK_MS, 'The mounts of the sandbox could not be listed')
    return text.split('\n').flatMap((line) => {
      const marker = line === '' ? undefined : parseMarker(line)
      return marker === undefined ? [] : [marker]
    })
  }

  async #remove(marker: MountMarker): Promise<void> {
    const { cache, credentials, log, marker: markerFile } = siteFiles(marker.mountPath)
    const site = { mountPath: marker.mountPath, cacheDirectory: cache }
    const script = unmountScript(site, [credentials, log, markerFile], marker.madeDirectory)
    await this.#asRoot(script, QUICK_MS, `${marker.mountPath} could not be unmounted`, 'Something may still use it')
  }

  /** After a failure; one more must not hide it, but credentials that stayed behind must be told of. */
  async #clean(marker: MountMarker, failure: unknown): Promise<void> {
    try {
      await this.#remove(marker)
    } catch (cleanup) {
      throw new E2BSandboxError({
        code: 'MOUNT_FAILED',
        message: `The mount at ${marker.mountPath} failed, and what it left could not be removed`,
        hint: 'Destroy the sandbox: the credentials file may still be there',
        cause: new AggregateError([failure, cleanup]),
      })
    }
  }

  async #asRoot(script: string, limitMs: number, failure: string, hint?: string): Promise<string> {
    const { exitCode, stderr, stdout } = await this.#host.run(script, { as: 'root', limitMs })
    if (exitCode === 0) return stdout
    return fail(`${failure} (exit ${exitCode}): ${stderr.trim().slice(-2_000)}`, hint)
  }
}

/** What a file system says of how it is mounted, or what went wrong in code that is its own. */
function askConfig(filesystem: WorkspaceFilesystem): { config?: FilesystemMountConfig; failure?: string } {
  try {
    const config: unknown = filesystem.getMountConfig?.()
    if (config === undefined || config === null) return {}
    if (isConfig(config)) return { config }
    return { failure: `getMountConfig() of the ${filesystem.provider} file system answers no object with a type` }
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return { failure: `getMountConfig() of the ${filesystem.provider} file system failed: ${said}` }
  }
}

const isConfig = (value: unknown): value is FilesystemMountConfig =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string'

const unavailable = (mountPath: string, error: string): MountResult => ({
  success: false,
  mountPath,
  error,
  unavailable: true,
})

function fail(message: string, hint: string | undefined): never {
  throw new E2BSandboxError({ code: 'MOUNT_FAILED', message, hint })
}

function reasonOf(exitCode: number, program: string): string {
  switch (exitCode) {
    case SCRIPT_EXIT.notMounted:
      return `${program} ended well, but nothing is mounted`
    case SCRIPT_EXIT.unreadable:
      return `it is mounted but cannot be read`
    default:
      return `${program} ended with ${exitCode}`
  }
}
