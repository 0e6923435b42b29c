import { FinishedWithoutFiles } from './build/build-failure.ts'
import { isManualClock } from './clock.ts'
import { assertBuildFailure, assertForeignTemplate } from './control-checks.ts'
import { EmulatorError } from './errors.ts'
import type { Fault, Plane } from './fault.ts'
import type { FaultList } from './faults.ts'
import type { OpenStreams } from './open-streams.ts'
import type { Schemas } from './platform/contract.ts'
import type { Platform, ScriptedBuildFailure } from './platform/platform.ts'
import { addForeignTemplate, type ForeignTemplate } from './platform/public-template.ts'
import { describeDetail } from './platform/sandboxes/describe.ts'
import { isVisible } from './platform/sandboxes/find.ts'
import type { BuildRecord, SandboxRecord } from './platform/state.ts'
import { parseTemplateRef } from './platform/template-ref.ts'
import { bootableBuild, newestAssignments, qualifiedName } from './platform/templates/resolve.ts'
import type { MountedImage } from './runtime/port.ts'
import { unreachable } from './unreachable.ts'

/** A request the emulator answered, in order of arrival. */
export interface RequestEntry {
  readonly method: string
  readonly path: string
  readonly plane: Plane
  /** 0 while it is being answered, and where the connection was dropped instead. */
  readonly status: number
}

export interface TemplateView {
  readonly templateId: string
  /** With namespace, as in `team/name`. */
  readonly name: string
  readonly public: boolean
  /** The newest build of each tag, whatever became of it. */
  readonly tags: Readonly<Record<string, string>>
}

export interface BuildView {
  readonly buildId: string
  readonly templateId: string
  /** The tags it was requested with. */
  readonly tags: readonly string[]
  readonly status: Schemas['TemplateBuildStatus']
  readonly reason: { readonly message: string; readonly step: string | undefined } | undefined
  readonly logs: readonly Schemas['BuildLogEntry'][]
}

/**
 * The back door for tests: what the platform would never tell, and what it could not be told. After the emulator was
 * closed its records can still be read (`sandboxes`, `templates`, `builds`, `requests`); everything else throws `CLOSED`.
 * What cannot be meant is refused with `INVALID_OPTION`, in words that name the field, and changes nothing.
 */
export interface EmulatorControl {
  /** As `GET /sandboxes/{id}` shows them; without those that are being killed. */
  sandboxes(): readonly Schemas['SandboxDetail'][]
  templates(): readonly TemplateView[]
  builds(): readonly BuildView[]
  readonly requests: readonly RequestEntry[]
  /** Moves a manual clock by milliseconds and waits for what fell due. Throws `CLOCK_NOT_MANUAL` for any other clock. */
  advance(ms: number): Promise<void>
  /** The next build that starts ends at once with this reason. A `step` is the number of one, `base` or `finalize`. */
  failNextBuild(failure?: ScriptedBuildFailure): void
  /**
   * The next running build that another one cancels had finished already: it turns ready, and its files are gone. It
   * resolves and cannot be booted (500).
   */
  finishNextCancelledBuild(): void
  /** The API process is replaced: builds that run now end without refreshing what booting remembers of their tags. */
  restartApi(): void
  /** Adds a fault; the returned function withdraws it. */
  fault(fault: Fault): () => void
  /**
   * Breaks off the answers of a sandbox, or of all, that are being read: streams of commands, watches, files. The
   * sandbox and its processes go on. Returns how many answers that were. Throws `UNKNOWN_TARGET` for an id that no
   * sandbox has.
   */
  dropStreams(sandboxId?: string): number
  /**
   * A template of another account: one that is occupied, or public. Its namespace is not the team's, and the name is not
   * taken. Returns its id.
   */
  addForeignTemplate(template: ForeignTemplate): string
  /**
   * The finished file system of a running or paused sandbox, or of the build a reference boots, as a directory of the
   * host. `release` removes it again. Throws `UNKNOWN_TARGET`.
   */
  filesystemOf(sandboxIdOrRef: string): Promise<MountedImage>
}

export function createControl(
  platform: Platform,
  world: {
    readonly requests: readonly RequestEntry[]
    readonly faults: FaultList
    readonly streams: OpenStreams
    settle(): Promise<void>
    /** Throws `CLOSED` from the end of the emulator on. */
    assertOpen(): void
  },
): EmulatorControl {
  const { state, clock } = platform
  return {
    sandboxes: () => [...state.sandboxes.values()].filter(isVisible).map(describeDetail),
    templates: () =>
      [...state.templates.values()].map((template) => ({
        templateId: template.id,
        name: qualifiedName(template),
        public: template.public,
        tags: Object.fromEntries(newestAssignments(template).map(({ tag, buildId }) => [tag, buildId])),
      })),
    builds: () => [...state.builds.values()].map(viewBuild),
    requests: world.requests,
    async advance(ms) {
      world.assertOpen()
      if (!isManualClock(clock)) {
        throw new EmulatorError('CLOCK_NOT_MANUAL', 'time can be moved only with a manual clock', {
          hint: 'Pass createEmulator({ clock: createManualClock() }).',
        })
      }
      clock.advance(ms)
      await world.settle()
    },
    failNextBuild(failure = { message: 'build failed on request of the test' }) {
      world.assertOpen()
      assertBuildFailure(failure)
      platform.failNextBuilds.push(failure)
    },
    finishNextCancelledBuild() {
      world.assertOpen()
      platform.finishCancelledBuilds.push(new FinishedWithoutFiles())
    },
    restartApi() {
      world.assertOpen()
      const running = [...state.builds.values()].filter((build) => build.state.status === 'building')
      for (const { id } of running) state.orphanedBuilds.add(id)
    },
    fault(fault) {
      world.assertOpen()
      return world.faults.add(fault)
    },
    dropStreams(sandboxId) {
      world.assertOpen()
      if (sandboxId !== undefined) assertSandbox(platform, sandboxId)
      return world.streams.drop(sandboxId)
    },
    addForeignTemplate(template) {
      world.assertOpen()
      assertForeignTemplate(template, platform)
      return addForeignTemplate(platform, template).id
    },
    async filesystemOf(target) {
      world.assertOpen()
      const runtime = await platform.runtime()
      const sandbox = state.sandboxes.get(target)
      const image = sandbox === undefined ? await imageOfRef(platform, target) : await imageOfSandbox(sandbox)
      const mounted = await runtime.inspectImage(image)
      if (mounted === undefined)
        throw new EmulatorError('UNKNOWN_TARGET', `the runtime cannot show the files of ${target}`)
      return mounted
    },
  }
}

function assertSandbox({ state }: Platform, id: unknown): void {
  if (typeof id !== 'string') {
    throw new EmulatorError('INVALID_OPTION', 'dropStreams: the id of a sandbox must be a string', {
      hint: 'Leave it out to break off the answers of all sandboxes.',
    })
  }
  if (!state.sandboxes.has(id)) throw new EmulatorError('UNKNOWN_TARGET', `no sandbox is called ${id}`)
}

const viewBuild = (build: BuildRecord): BuildView => ({
  buildId: build.id,
  templateId: build.templateId,
  tags: build.tags,
  status: build.state.status,
  reason: build.state.status === 'error' ? build.state.reason : undefined,
  logs: build.logs,
})

async function imageOfRef(platform: Platform, ref: string) {
  try {
    const { artifact } = bootableBuild(platform, parseTemplateRef(ref))
    return (await artifact()).image
  } catch (cause) {
    throw new EmulatorError('UNKNOWN_TARGET', `no sandbox and no ready template is called ${ref}`, { cause })
  }
}

async function imageOfSandbox({ id, phase }: SandboxRecord) {
  switch (phase.name) {
    case 'running':
      return phase.machine.snapshot()
    case 'paused':
      return phase.kept.kind === 'memory' ? phase.kept.machine.snapshot() : phase.kept.image
    case 'pausing':
    case 'resuming':
    case 'snapshotting':
    case 'killing':
      throw new EmulatorError('UNKNOWN_TARGET', `sandbox ${id} is between two states`)
    default:
      return unreachable(phase)
  }
}
