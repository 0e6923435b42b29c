import { runBuild } from '../build/run-build.ts'
import { ApiError } from './api-error.ts'
import type { Platform } from './platform.ts'
import type { BuildArtifact, BuildRecord, TemplateRecord } from './state.ts'
import { DEFAULT_TAG } from './template-ref.ts'

const BASE_IMAGE = 'e2bdev/base'

/** A template of somebody else. A public one can be booted; a private one only occupies its name. */
export interface ForeignTemplate {
  readonly name: string
  /** `null`: a promoted name that resolves without a namespace. */
  readonly namespace: string | null
  readonly public: boolean
}

/** Registers a template the team does not own, ready under `default`. Its image is made when first needed. */
export function addForeignTemplate(platform: Platform, foreign: ForeignTemplate): TemplateRecord {
  const now = platform.clock.now()
  const id = platform.identifiers.template()
  const build: BuildRecord = {
    id: platform.identifiers.build(),
    templateId: id,
    tags: [DEFAULT_TAG],
    cpuCount: 2,
    memoryMB: 1024,
    createdAt: now,
    updatedAt: now,
    state: { status: 'waiting' },
    logs: [],
  }
  let made: Promise<BuildArtifact> | undefined
  build.state = { status: 'ready', artifact: () => (made ??= makeArtifact(platform, build)) }
  const template: TemplateRecord = {
    id,
    owner: 'other',
    ...foreign,
    source: { kind: 'build' },
    createdAt: now,
    updatedAt: now,
    lastSpawnedAt: undefined,
    spawnCount: 0,
    assignments: [{ tag: DEFAULT_TAG, buildId: build.id, createdAt: now }],
  }
  platform.state.builds.set(build.id, build)
  platform.state.templates.set(id, template)
  return template
}

async function makeArtifact(platform: Platform, build: BuildRecord): Promise<BuildArtifact> {
  const scratch: BuildRecord = { ...build, logs: [] }
  const { signal } = new AbortController()
  await runBuild(platform, scratch, { fromImage: BASE_IMAGE }, { defaultUser: true, signal })
  if (scratch.state.status === 'ready') return scratch.state.artifact()
  const why = scratch.state.status === 'error' ? scratch.state.reason.message : scratch.state.status
  throw new ApiError(500, `the image of a public template could not be made: ${why}`)
}
