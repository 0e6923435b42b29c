import { createHash } from 'node:crypto'

/**
 * Begins the name of every checkpoint. E2B keeps snapshots and templates under one kind of name, and a snapshot named
 * like a template becomes what that template boots; no name made here can be that of a template of this family.
 */
export const CHECKPOINT_PREFIX = 'warmbox-checkpoint-'

const READABLE_CHARACTERS = 40
const DIGEST_CHARACTERS = 32

/** The ref a checkpoint is stored under: a readable part, and a digest that tells any two names apart. */
export function checkpointRef(name: string): string {
  const readable = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, READABLE_CHARACTERS)
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_CHARACTERS)
  return `${CHECKPOINT_PREFIX}${readable === '' ? '' : `${readable}-`}${digest}:default`
}

/** The name under which a snapshot is taken; its tag is `default` where none is given. */
export const checkpointSnapshotName = (name: string): string => checkpointRef(name).replace(/:default$/, '')
