import { readFile } from 'node:fs/promises'
import {
  canonicalText,
  type CloneUrl,
  type ContentTemplateIdentity,
  contentTemplateName,
  contentTemplateText,
  IDENTITY_SCHEME,
  IdentityError,
  type IdentityErrorCode,
  type MountableTemplateIdentity,
  mountableTemplateId,
  mountableTemplateText,
  parseCloneUrl,
  type RepoTemplateIdentity,
  repoTemplateRef,
} from '@warmbox/identity'

interface Vector<Identity> {
  readonly name: string
  readonly identity: Identity
  readonly text: string
  readonly ref: string
}
type RepoVector = Vector<RepoTemplateIdentity> & { readonly prefix?: string }
type CloneUrlVector = { readonly url: string } & Omit<CloneUrl, 'port'> & { readonly port: number | null }
interface RefusedVector {
  readonly name: string
  readonly identity: RepoTemplateIdentity
  readonly code: IdentityErrorCode
  readonly field: string | null
}

/** What `vectors.json` holds: inputs, and what the scheme makes of them. */
export interface Vectors {
  readonly scheme: number
  readonly repo: readonly RepoVector[]
  readonly mountable: readonly Vector<MountableTemplateIdentity>[]
  readonly content: readonly Vector<ContentTemplateIdentity>[]
  readonly cloneUrls: readonly CloneUrlVector[]
  readonly refused: readonly RefusedVector[]
}

export const vectorsFile = new URL('../vectors.json', import.meta.url)

export const readVectors = async (): Promise<Vectors> => {
  const vectors: Vectors = JSON.parse(await readFile(vectorsFile, 'utf8'))
  return vectors
}

export const repoVector = ({ name, identity, prefix }: RepoVector): RepoVector => ({
  name,
  identity,
  ...(prefix === undefined ? {} : { prefix }),
  text: canonicalText(identity),
  ref: repoTemplateRef(identity, { prefix }),
})

export const mountableVector = ({
  name,
  identity,
}: Vector<MountableTemplateIdentity>): Vector<MountableTemplateIdentity> => ({
  name,
  identity,
  text: mountableTemplateText(identity),
  ref: mountableTemplateId(identity),
})

export const contentVector = ({
  name,
  identity,
}: Vector<ContentTemplateIdentity>): Vector<ContentTemplateIdentity> => ({
  name,
  identity,
  text: contentTemplateText(identity),
  ref: contentTemplateName(identity),
})

export const cloneUrlVector = ({ url }: CloneUrlVector): CloneUrlVector => {
  const { port, ...parts } = parseCloneUrl(url)
  return { url, ...parts, port: port ?? null }
}

export const refusedVector = ({ name, identity }: RefusedVector): RefusedVector => {
  try {
    repoTemplateRef(identity)
  } catch (error) {
    if (error instanceof IdentityError) return { name, identity, code: error.code, field: error.field ?? null }
    throw error
  }
  throw new Error(`${name}: nothing was refused`)
}

/** Every vector computed anew from its input. */
export const recomputed = (vectors: Vectors): Vectors => ({
  scheme: IDENTITY_SCHEME,
  repo: vectors.repo.map(repoVector),
  mountable: vectors.mountable.map(mountableVector),
  content: vectors.content.map(contentVector),
  cloneUrls: vectors.cloneUrls.map(cloneUrlVector),
  refused: vectors.refused.map(refusedVector),
})
